"""The same roles of words in other languages, for the orders that matter most."""

from __future__ import annotations

from tikitaka.safety.wordlists import words

# Stars take any ending; scripts without blanks are looked for inside the clause.
FOREIGN_LEADS = words(
    """
    und oder bitte jetzt dann sofort einfach zudem y e o u por favor ahora luego además et ou puis maintenant
    veuillez ensuite poi ora favore en dan nu graag eerst och sen sedan og så ja sitten nyt i oraz teraz proszę
    a pak nyní prosím și apoi acum rog és majd kérlek most ve lütfen şimdi sonra и затем теперь пожалуйста
    сейчас а потом та і й потім тепер будь ласка сега моля και τώρα παρακαλώ و ثم الآن فضلك ו עכשיו בבקשה và hãy
    xin tolong mohon lalu na sasa tafadhali me mir mich uns agenten agentes agents agenti agentit агенты агенти
    ki ai ia ии kai
    """
)
# Orders that stand at the end of their clause.
VERB_FINAL = words(
    """
    yok görmezden dikkate boş es gözardı say yoksay göster gösterin yazdır yazdırın gönder gönderin sil silin
    kapat kapatın atla atlayın unut unutun açıkla söyle bırak alma et geç paylaş yükle نادیده بگیر نشان بده
    بفرست فراموش کن حذف
    """
)

FOREIGN: dict[str, str] = {
    "override": """
        haz caso omiso | haga caso omiso | no hagas caso | no sigas | pasa por alto | non seguire |
        fais abstraction | ne fais pas attention | não siga | não sigas | halte dich nicht an |
        beachte nicht | befolge nicht | не слушай* | не соблюдай* | не выполняй* | не дотримуйся* |
        不要遵守 | 不要遵循 | 不用理会 | 守らなくて | 따르지 말 | 지키지 마 | 지키지 말 | ignorier* |
        vergiss | vergesst | vergessen sie | missachte* | überspring* | umgehe* | setz dich hinweg |
        ignora | ignorad | ignore | ignoren | olvida | olvide | olviden | descarta | omite | omita |
        desobedece | salta | ignorez | oublie | oubliez | néglige* | passe outre | contourne* |
        ne tiens pas compte | ne tenez pas compte | ne suis plus | ignorem | esqueça | esquece | esqueçam |
        desconsidere | despreza | descarte | ignorate | ignori | dimentica | dimenticate | trascura |
        scarta | scavalca | negeer | negeert | vergeet | sla over | omzeil | ignorera | glöm | strunta i |
        bortse från | ignorer | glem | se bort fra | ohita | unohda | älä välitä | zignoruj | ignoruj |
        zignorujcie | zapomnij | pomiń | odrzuć | ignorujte | zapomeň | zapomeňte | ignoră | ignorați |
        uită | uitați | hagyd figyelmen | felejtsd | hagyja figyelmen | yok say | yoksay* |
        görmezden gel* | unut | unutun | dikkate alma* | boş ver | игнорируй* | проигнорируй* | забудь* |
        отбрось* | не обращай* | не следуй* | обойди* | пренебреги* | ігноруй* | проігноруй* | знехтуй* |
        игнорирай* | забрави | пренебрегни | αγνόησε | αγνοήστε | ξέχνα | ξέχασε | ξεχάστε | παράβλεψε |
        تجاهل | تجاهلي | تجاهلوا | انس | انسَ | تجاوز | התעלם | התעלמי | התעלמו | שכח | שכחי | نادیده |
        فراموش کن | अनदेखा | नज़रअंदाज़ | नजरअंदाज | भूल जाओ | भूल जाएं | अनदेखी | উপেক্ষা | ভুলে যান |
        忽略 | 无视 | 無視 | 忽視 | 忘记 | 忘掉 | 忘記 | 不要理会 | 别管 | 抛开 | 放弃 | 绕过 | 跳过 |
        无須遵守 | 忘れて | 無効に | 従わない | 무시 | 잊어 | 잊고 | 따르지 마 | 무효 | bỏ qua | phớt lờ |
        quên đi | quên hết | lờ đi | abaikan | lupakan | jangan hiraukan | hiraukan | kesampingkan |
        puuza | sahau | ละเว้น | ไม่ต้องสนใจ | เพิกเฉย | ลืม | ข้าม | புறக்கணி | ignoreeri | unusta |
        ignorē | aizmirsti | ignoruok | pamiršk | zanemari | zaboravi | ignoriraj | pozabi
    """,
    "rules": """
        was man dir gesagt | was dir gesagt | alles davor | alles vorherige | alles bisherige |
        lo anterior | lo que te dijeron | lo que te han dicho | ce qui précède | ce qu on t a dit |
        o que foi dito | tudo acima | quanto sopra | quello che ti | всё что было | всё выше |
        что тебе говорили | 上文 | 上面的内容 | 前面的内容 | これまで | 今までの | anweisung* | regel |
        regeln | richtlinie* | vorgaben | vorschrift* | instruktion* | befehle | instruccion* |
        instrucciones | reglas | norma | normas | directrices | indicaciones | órdenes | consigne* |
        instructions | règle* | directive* | ordres | instruções | instrução | regra* | diretriz* |
        ordens | istruzion* | regol* | direttiv* | ordini | instructie* | regels | richtlijn* |
        opdrachten | aanwijzing* | voorschriften | regler* | riktlinj* | anvisning* | instruks* | reglene |
        retningslinje* | ohje* | säänt* | instrukcj* | polece* | zasad* | reguł* | wytyczn* | pokyn* |
        pravidl* | instrukc* | instrucțiun* | instructiun* | reguli* | utasítás* | szabály* | talimat* |
        kural* | yönerge* | komut* | инструкци* | правил* | указани* | директив* | распоряжени* | приказ* |
        інструкці* | вказівк* | настанов* | правила* | инструкциите | указанията | οδηγί* | κανόν* |
        εντολ* | تعليمات | التعليمات | القواعد | قواعد | الأوامر | الارشادات | الإرشادات | ההוראות |
        הוראות | הכללים | כללים | دستور* | دستورات | دستورالعمل* | قوانین | निर्देश* | नियम* | आदेश* |
        নির্দেশ* | নিয়ম* | 指示 | 规则 | 規則 | 指令 | 说明 | 說明 | 规定 | 要求 | ルール | 命令 | 指図 |
        지시 | 지침 | 규칙 | 명령 | hướng dẫn | chỉ dẫn | chỉ thị | quy tắc | quy định | lệnh | instruksi |
        petunjuk | aturan | perintah | maagizo | maelekezo | sheria | kanuni | คำสั่ง | กฎ | คำแนะนำ |
        juhis* | norādījum* | instrukcij* | taisykl* | upute | pravila | navodila
    """,
    "prompt": """
        systemprompt | system prompt | systemanweisung* | systemnachricht | systembefehl |
        versteckten anweisungen | geheimen anweisungen | prompt del sistema | prompt de sistema |
        instrucciones ocultas | instrucciones del sistema | mensaje de sistema | mensaje del sistema |
        instrucciones secretas | indicaciones ocultas | prompt système | prompt du système |
        invite système | message système | instructions cachées | consignes cachées | consignes système |
        instructions système | prompt do sistema | instruções ocultas | instruções do sistema |
        mensagem do sistema | prompt di sistema | istruzioni nascoste | istruzioni di sistema |
        messaggio di sistema | systeemprompt | systeembericht | verborgen instructies |
        systeeminstructie* | systemprompten | systemmeddelande | dolda instruktioner | systemmelding* |
        skjulte instruks* | skjulte instruktioner | järjestelmäkehot* | järjestelmäkehote |
        piilotetut ohjeet | prompt systemow* | ukryte instrukcje | systémový prompt | systemovy prompt |
        skryté pokyny | promptul de sistem | instrucțiunile ascunse | rendszerprompt* | rejtett utasítás* |
        sistem istemi* | sistem prompt* | gizli talimat* | sistem mesajı* | системный промпт |
        системный запрос | системное сообщение | системные инструкции | скрытые инструкции |
        системний промпт | приховані інструкції | системния промпт | системното съобщение |
        σύστημα prompt | system prompt σου | κρυφές οδηγίες | موجه النظام | رسالة النظام |
        التعليمات المخفية | مطالبة النظام | النظام | הוראות המערכת | הנחיית המערכת | פרומפט המערכת |
        پرامپت سیستم | دستورهای پنهان | सिस्टम प्रॉम्प्ट | छिपे निर्देश | 系统提示 | 系統提示 | 系统指令 |
        系统消息 | 隐藏指令 | 隐藏的指示 | システムプロンプト | システム指示 | 隠された指示 |
        시스템 프롬프트 | 시스템 메시지 | 숨겨진 지시 | lời nhắc hệ thống | system prompt của |
        chỉ dẫn ẩn | prompt hệ thống | prompt sistem | instruksi tersembunyi | pesan sistem | พรอมต์ระบบ |
        คำสั่งระบบ | ข้อความระบบ | süsteemi viip*
    """,
    "reveal": """
        muéstrame | enséñame | enviame | dímelo | mándame | dámelo | mostrami | inviami | mandami |
        diga-me | mostre-me | dê-me | me dê | скажи* | дай* | пришли* | надай* | скажи | zeige | zeig |
        zeigt | gib | gebt | nenne | verrate | drucke | wiederhole | schreibe | teile mit | antworte mit |
        offenbare | muestra | muestre | revela | revele | imprime | imprima | dime | repite | enseña |
        escribe | comparte | dame | responde con | montre* | affiche* | révèle* | imprime* | donne* |
        dis-moi | répète* | écris | mostre | mostra | exiba | diga | repita | escreva | forneça | mostra* |
        rivela* | stampa | scrivi | dimmi | ripeti | fornisci | dammi | toon | laat zien | onthul | print |
        geef | vertel | herhaal | schrijf | visa | avslöja | skriv ut | berätta | upprepa | ge mig | vis |
        avslør | afslør | skriv | fortæl | fortell | gi meg | giv mig | näytä | paljasta | tulosta |
        kerro | anna | pokaż | ujawnij | wypisz | podaj | wyświetl | powtórz | napisz | ukaž | zobraz |
        prozraď | vypiš | napiš | řekni | arată | afișează | dezvăluie | spune | mutasd | írd ki |
        áruld el | add meg | göster* | yazdır* | açıkla | paylaş | söyle | покажи* | раскрой* | выведи* |
        напечатай* | назови* | сообщи* | напиши* | повтори* | выдай* | розкрий* | виведи* | повідом* |
        разкрий | изведи | кажи | δείξε | αποκάλυψε | εμφάνισε | εκτύπωσε | πες | γράψε | اعرض | أظهر |
        اظهر | اكشف | اطبع | أعطني | اكتب | أخبر | הצג | חשוף | הדפס | גלה | תן | כתוב | بده | نشان |
        افشا | چاپ کن | दिखाओ | दिखाएं | दिखाइए | बताओ | बताएं | प्रकट | দেখাও | প্রকাশ | 显示 | 顯示 |
        输出 | 告诉 | 告訴 | 展示 | 打印 | 透露 | 泄露 | 给我 | 列出 | 写出 | 表示 | 見せ | 教えて | 出力 |
        公開 | 開示 | 보여 | 출력 | 공개 | 알려 | 말해 | 표시 | hiển thị | tiết lộ | cho tôi | in ra |
        cho xem | tampilkan | tunjukkan | ungkapkan | cetak | beritahu | onyesha | toa | แสดง | เปิดเผย |
        บอก | พิมพ์ | näita | parādi | parodyk | prikaži | pokaži | otkrij | razkrij
    """,
    "secret": """
        пароли | api keys | passwort* | kennwort* | zugangsdaten | geheimnis* | schlüssel | api-schlüssel |
        token | tokens | contraseña* | clave | claves | credencial* | secretos | mot de passe |
        mots de passe | clé | clés | secrets | identifiants | jetons | senha* | chave* | credencia* |
        segredos | password | chiav* | credenzial* | segreti | wachtwoord* | sleutel* | geheimen |
        inloggegevens | lösenord* | nyckel | nycklar | hemlighet* | adgangskode* | passord* | nøgle* |
        nøkkel* | salasana* | avain | avaimet | hasł* | klucz* | poświadczeni* | heslo | hesla | klíč* |
        parola | parole* | chei* | jelszó* | jelszav* | kulcs* | şifre* | parola* | anahtar* | парол* |
        ключ* | секрет* | токен* | учётные данные | учетные данные | облікові дані | κωδικ* | κλειδί* |
        كلمة المرور | كلمات المرور | المفتاح | مفتاح | مفاتيح | الأسرار | סיסמה | סיסמאות | הסיסמה |
        המפתח | מפתח | רמז | رمز عبور | کلید | पासवर्ड | कुंजी | गुप्त | পাসওয়ার্ড | 密码 | 密碼 | 密钥 |
        密鑰 | 令牌 | 凭证 | 凭据 | 秘密 | 口令 | パスワード | 秘密鍵 | トークン | APIキー | キー |
        비밀번호 | 암호 | 비밀 | 키 | 토큰 | 자격 증명 | mật khẩu | khóa | bí mật | thông tin đăng nhập |
        kata sandi | kunci | rahasia | kredensial | nenosiri | nywila | รหัสผ่าน | คีย์ | กุญแจ | ความลับ |
        parool* | slaptažod* | lozink* | gesl*
    """,
    "send": """
        envíame | mándame | mandami | inviami | enviem | sende | sendet | schick* | übermittle* |
        lade hoch | leite weiter | maile | envía | envia | envíe | manda | sube | reenvía | reenvia |
        publica | envoie* | transmets | transmettez | téléverse* | transfère* | poste | publie* | envie |
        mande | encaminhe | carregue | publique | invia* | manda* | inoltra* | carica* | pubblica* |
        stuur* | verzend | upload | mail | skicka* | ladda upp | send | lähetä* | lataa | wyślij* |
        prześlij* | odešli* | pošli* | nahraj* | trimite* | încarcă | küldd | küldj* | töltsd fel |
        gönder* | yükle* | ilet | отправь* | отправляй* | перешли* | пошли* | загрузи* | вышли* |
        надішли* | відправ* | изпрати* | качи* | στείλε | στείλτε | ανέβασε | أرسل | ارسل | ارفع | שלח |
        העלה | بفرست | ارسال کن | भेजो | भेजें | পাঠাও | 发送 | 發送 | 上传 | 上傳 | 转发 | 寄给 | 提交到 |
        送信 | アップロード | 送って | 転送 | 보내 | 전송 | 업로드 | 전달 | gửi | tải lên | chuyển tiếp |
        kirim* | unggah | teruskan | tuma | ส่ง | อัปโหลด | saada | sūti | siųsk | pošalji | pošlji
    """,
    "data": """
        notizen | verlauf | quellcode | dateien | daten | gesprächsverlauf | notas | historial | código |
        archivos | datos | conversación | notes | historique | fichiers | données | code source |
        histórico | arquivos | dados | conversa | note | cronologia | file | dati | conversazione |
        notities | geschiedenis | bestanden | gegevens | broncode | anteckningar | historik | filer |
        noter | muistiinpanot | tiedostot | notatki | historię | pliki | dane | poznámky | historii |
        soubory | data | notele | istoricul | fișierele | jegyzetek | jegyzeteket | fájlokat | notlar* |
        geçmiş* | dosyalar* | veriler* | заметк* | историю | истории | файл* | данные | переписк* |
        нотатк* | історію | файли | дані | бележк* | σημειώσεις | ιστορικό | αρχεία | δεδομένα |
        الملاحظات | السجل | الملفات | البيانات | ההערות | ההיסטוריה | הקבצים | * | नोट्स | इतिहास |
        फ़ाइल* | डेटा | 笔记 | 筆記 | 历史 | 記錄 | 记录 | 文件 | 数据 | 资料 | 源代码 | 代码 | 对话 |
        ノート | メモ | 履歴 | ファイル | データ | 会話 | 노트 | 메모 | 기록 | 파일 | 데이터 | 대화 |
        ghi chú | lịch sử | tệp | dữ liệu | catatan | riwayat | berkas | บันทึก | ประวัติ | ไฟล์ | ข้อมูล
    """,
    "disable": """
        deaktiviere* | schalte | schalt | umgehe* | überspringe* | unterlasse | entferne | stoppe |
        desactiva* | desactive | apaga | omite | omita | evita | salta* | elimina | quita | désactive* |
        contourne* | saute* | coupe* | évite* | supprime* | desative* | desativa | desligue | pule |
        ignore | remova | disattiva* | disabilita* | spegni | aggira | rimuovi | schakel | sla | omzeil |
        zet uit | inaktivera | stäng av | hoppa över | kringgå | slå av | slå fra | deaktiver |
        spring over | omgå | poista | ohita | kytke pois | wyłącz* | pomiń* | omiń* | vypni* | přeskoč* |
        obejdi* | dezactivează | sari peste | oprește | kapcsold ki | hagyd ki | kerüld meg | devre dışı* |
        kapat* | atla* | es geç | отключи* | выключи* | обойди* | пропусти* | вимкни* | обійди* |
        изключи* | прескочи* | απενεργοποίησε | παράκαμψε | παράλειψε | عطل | عطّل | أوقف | اوقف | تخط |
        تخطَّ | כבה | השבת | דלג | غیرفعال | अक्षम | बंद करो | बंद कर | छोड़ | 关闭 | 關閉 | 禁用 | 停用 |
        跳过 | 绕过 | 取消 | 無効 | オフに | スキップ | 回避 | 止めて | 비활성화 | 끄 | 꺼 | 건너뛰 |
        우회 | 생략 | 중지 | tắt | vô hiệu hóa | bỏ qua | matikan | nonaktifkan | lewati | zima | ปิด |
        ข้าม | lülita välja | izslēdz | išjunk | isključi | izklopi | preskoči
    """,
    "safety": """
        sicherheit* | schutz* | freigabe* | genehmigung* | prüfung* | quarantäne | schwärzung |
        protokollierung | filter | überprüfung | seguridad | aprobación | revisión | cuarentena | filtros |
        controles | registro | auditoría | comprobaciones de seguridad | sécurité | approbation |
        validation | vérification* | quarantaine | filtres | contrôles | journalisation | garde-fous |
        segurança | aprovação | revisão | quarentena | auditoria | verificações | sicurezza |
        approvazione | revisione | quarantena | controlli | veiligheid* | beveiliging* | goedkeuring* |
        controle* | säkerhet* | godkännande* | granskning* | karantän* | sikkerhed* | sikkerhet* |
        godkend* | godkjenn* | karantæne | karantene | turvallisuus* | turva* | hyväksyn* | karanteeni* |
        bezpieczeństw* | zatwierdz* | kwarantann* | zabezpieczeni* | bezpečnost* | schválen* | schval* |
        kontrol* | karanté* | siguranț* | securitate* | aprobar* | biztonság* | jóváhagy* | karantén* |
        güvenlik* | onay* | karantina* | denetim* | безопасност* | проверк* | одобрени* | карантин* |
        защит* | аудит* | согласовани* | безпек* | перевірк* | схвален* | захист* | сигурност* |
        ασφάλεια* | ασφαλείας | έγκριση | έλεγχο* | καραντίνα | الأمان | السلامة | الموافقة | المراجعة |
        الحجر | الحماية | الفلاتر | האבטחה | הבטיחות | האישור | ההסגר | בדיקות | ایمنی | امنیتی | تأیید |
        सुरक्षा | अनुमोदन | समीक्षा | 安全 | 审批 | 審批 | 审核 | 審核 | 审查 | 隔离 | 批准 | 过滤 |
        安全检查 | 安全チェック | セーフティ | 承認 | 審査 | 検疫 | フィルタ | 보안 | 안전 | 승인 | 검토 |
        격리 | 필터 | an toàn | bảo mật | phê duyệt | kiểm duyệt | keamanan | persetujuan | karantina |
        pemeriksaan | usalama | ความปลอดภัย | การอนุมัติ | ตรวจสอบ | turvakontroll* | drošīb* | saugum* |
        sigurnosn* | varnostn*
    """,
    "conceal": """
        heimlich | unbemerkt | ohne es zu sagen | sag niemandem | sage niemandem | verrate niemandem |
        erwähne es nicht | en secreto | sin decir | no se lo digas | no digas a nadie | no lo menciones |
        sin avisar | discretamente | a escondidas | en secret | sans le dire | n'en parle* | ne le dis |
        ne le dites | discrètement | sans prévenir | em segredo | sem avisar | não conte | não mencione |
        in segreto | di nascosto | senza dirlo | non dirlo | in het geheim | stiekem | vertel niemand |
        zonder te melden | i hemlighet | i smyg | berätta inte | i hemmelighed | hemmelig | fortæl ikke |
        salaa | älä kerro | potajemnie | po cichu | nie mów | tajně | neříkej | în secret | titokban |
        ne mondd | gizlice | kimseye söyleme | söyleme | тайно | незаметно | втайне | никому не говори* |
        не сообщай* | не упоминай* | таємно | непомітно | нікому не кажи* | κρυφά | μην πεις | سرا | سراً |
        لا تخبر | دون إخبار | בסתר | בחשאי | אל תספר | مخفیانه | चुपके से | किसी को मत | 悄悄 | 偷偷 |
        秘密地 | 不要告诉 | 不要告訴 | 别告诉 | 不要提及 | こっそり | 秘密に | 内緒で | 伝えないで |
        言わないで | 몰래 | 비밀리에 | 알리지 마 | 말하지 마 | bí mật | âm thầm | đừng nói | diam-diam |
        secara rahasia | jangan beri tahu | kwa siri | แอบ | อย่าบอก
    """,
    "hush": """
        nichts davon | sag niemandem | sagt niemandem | erzähl niemandem | erwähne es nicht |
        erwähne dies nicht | verrate niemandem | verschweige* | no se lo digas | no le digas |
        no digas nada | no se lo cuentes | no lo menciones | no menciones esto | ne dites rien |
        ne dis rien | n'en parle pas | n'en parlez pas | n'en parle à personne | ne le dis à personne |
        não conte | não diga nada | não mencione isto | non dirlo | non dire niente | non dite nulla |
        non menzionar* | vertel het niet | zeg niets | vertel niemand | säg inget | säg ingenting |
        berätta inte | sig ingenting | si ingenting | fortell ikke | fortæl ikke | älä kerro |
        älä mainitse | nie mów | nikomu nie mów | nie wspominaj | neříkej | nikomu neříkej | nu spune |
        nu menționa | ne mondd | ne említsd | söyleme | kimseye söyleme | bahsetme | никому не говори* |
        не говори* | не рассказывай* | не упоминай* | не сообщай* | нікому не кажи* | не кажи* |
        не казвай* | μην πεις | μην αναφέρεις | لا تخبر | لا تذكر | אל תספר | אל תזכיר | به کسی نگو |
        किसी को मत बताना | मत बताओ | किसी को न बताएं | 不要告诉 | 不要告訴 | 别告诉 | 不要提及 |
        不要让审核 | 言わないで | 伝えないで | 知らせないで | 教えないで | 말하지 마 | 알리지 마 |
        đừng nói | không được nói | jangan beri tahu | jangan katakan | jangan sebut | usimwambie | อย่าบอก
    """,
    "claim": """
        dis que | dites que | と報告 | と伝え | 报告说 | 報告說 | 보고해 | 보고하 | behaupte | sag dass |
        sage dass | melde | markiere | tu so | di que | marca | finge | afirma | prétends | marque |
        fais comme si | diga que | finja | afirme | di' che | segna | fingi | dichiara | zeg dat |
        doe alsof | markeer | säg att | låtsas | sig at | si at | lad som om | väitä | merkitse |
        powiedz że | udawaj | oznacz | řekni že | předstírej | označ | spune că | mondd hogy | jelöld |
        söyle | işaretle | gibi davran | скажи что | отметь* | притворись* | заяви* | скажи що | познач* |
        说已 | 声称 | 标记 | 假装 | 言って | 報告して | ふりをして | 했다고 말 | 표시해 | nói rằng |
        đánh dấu | katakan | tandai | บอกว่า
    """,
    "approved": """
        passé* | réussi* | bestanden | grün | pasado | superado | passou | passaram | passati | superati |
        пройден* | прошли | успешн* | 通过 | 合格 | 成功 | 통과 | 합격 | lulus | đã qua | genehmigt |
        geprüft | erledigt | aprobado | aprobada | revisado | hecho | approuvé* | vérifié* | validé* |
        fait | aprovado | aprovada | feito | approvat* | verificat* | fatto | goedgekeurd | gecontroleerd |
        gedaan | godkänd* | godkendt | godkjent | hyväksyt* | zatwierdzon* | sprawdzon* | schválen* |
        hotovo | aprobat | jóváhagyva | onaylan* | yapıldı | одобрен* | проверен* | выполнен* | схвален* |
        已批准 | 已审核 | 已完成 | 已通过 | 已检查 | 承認済み | 完了 | 승인됨 | 승인되었 | 완료 |
        đã duyệt | đã xong | disetujui | selesai | อนุมัติแล้ว
    """,
    "prior": """
        vorherig* | bisherig* | früher* | obig* | vorangegangen* | alle | anteriores | previas | previos |
        anterior | todas | précédent* | antérieur* | ci-dessus | toutes | prévias | precedent* |
        precedenti | vorige | eerdere | bovenstaande | tidigare | ovanstående | tidligere | forrige |
        ovenstående | aiemmat | edelliset | poprzedni* | wcześniejsz* | powyższ* | předchozí* | dosavadní |
        anterioare | precedente | korábbi | előző | önceki | yukarıdaki | прежн* | предыдущ* |
        вышеуказанн* | все | попередн* | усі | предишн* | προηγούμεν* | السابقة | السابقه | أعلاه |
        הקודמות | قبلی | पिछले | पूर्व | সমস্ত | 以上 | 之前 | 先前 | 前面 | 所有 | 上述 | 以前 |
        これまで | 前の | 上記 | 이전 | 위의 | 모든 | 기존 | trước | trước đó | phía trên | sebelumnya |
        di atas | ก่อนหน้า | ทั้งหมด | eelnevad | iepriekš* | ankstesn* | prethodn* | prejšnj*
    """,
    "fromnow": """
        ab jetzt | ab sofort | von nun an | a partir de ahora | desde ahora | à partir de maintenant |
        désormais | a partir de agora | d'ora in poi | vanaf nu | från och med nu | fra nu af | fra nå av |
        tästä lähtien | od teraz | odteď | de acum | mostantól | bundan sonra | şu andan itibaren |
        с этого момента | отныне | теперь ты | відтепер | отсега нататък | από τώρα | من الآن | מעכשיו |
        از این پس | अब से | 从现在起 | 从现在开始 | 從現在起 | 今から | これから | 지금부터 | từ bây giờ |
        mulai sekarang | ตั้งแต่นี้
    """,
    "obey": """
        gehorche* | befolge jede | befolge alle | obedece* | obéis* | obéissez | obedeça | obbedisci |
        gehoorzaam | lyd | tottele | słuchaj tylko | poslouchej | ascultă | engedelmeskedj | itaat et* |
        подчиняйся* | слушайся* | выполняй* | підкоряйся* | виконуй* | подчинявай* | υπάκουσε | أطع | نفذ |
        ציית | اطاعت | मानो | 服从 | 听从 | 執行所有 | 执行所有 | 従え | 従って | 복종 | 따라 | tuân theo |
        patuhi | เชื่อฟัง
    """,
    "destroy": """
        lösche* | vernichte* | borra* | elimina* | efface* | supprime* | apague* | exclua | delete |
        cancella* | verwijder* | wis | radera* | ta bort | slet | slett | poista | usuń* | skasuj* |
        smaž* | vymaž* | șterge* | töröld | töröl | sil | silin | удали* | сотри* | уничтожь* | видали* |
        зітри* | изтрий* | διέγραψε | احذف | امسح | מחק | حذف کن | हटाओ | मिटा | 删除 | 刪除 | 清空 |
        削除 | 消去 | 삭제 | 지워 | xóa | hapus | futa | ลบ
    """,
    "everything": """
        alle dateien | alles | alle daten | gesamte* | todos los archivos | todo | toda la base |
        tous les fichiers | tout | toutes les données | todos os arquivos | tudo | tutti i file | tutto |
        alle bestanden | alla filer | alle filer | kaikki | wszystkie pliki | wszystko | všechny soubory |
        všechno | toate fișierele | összes | minden | tüm dosyalar* | hepsini | все файлы | всё |
        все данные | всі файли | усе | όλα | كل الملفات | جميع | כל הקבצים | همه | सभी फ़ाइलें | 所有文件 |
        全部 | 整个 | すべて | 全て | 모든 파일 | 전부 | tất cả | semua | ทั้งหมด
    """,
}
