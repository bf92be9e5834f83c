"""The words for secrets in many languages, and the words that take the secrecy away again."""

from __future__ import annotations

from tikitaka.safety.wordlists import listed, words

# Words that name a password wherever they stand; their values may be short.
PASSWORD_WORDS = listed(
    r"""
    password, passwords?, passwd, passwort, kennwort, passphrase, pass-phrase, pass phrase, passcode,
    pass code, pass word, passw, pword, pwd, p[a4@][s5$]{2}w[o0]rd, passwrd, pasword, parole?, losung,
    geheimwort, zugangscode, contrase(?:ñ|n|ny)a, clave(?: de acceso| secreta)?, contrasenya, pasahitza,
    contrasinal, mots? de passe, mdp, phrase secr[eè]te, code d['’]acc[eè]s, senha, palavra[- ]passe,
    palavra[- ]chave, chave de acesso, parola(?: d['’]ordine)?, parol[aăe]?, chiave d['’]accesso,
    wachtwoord(?:en)?, toegangscode, l[öo]senord(?:et)?, l[öo]sen, adgangskode[n]?, kodeord(?:et)?,
    passord(?:et)?, salasana, tunnussana, has[łl]o, heslo, geslo, zaporka, lozinka, šifra, slaptažodis,
    jelsz[óo], jelszava, [şs]ifre(?:si|m|niz)?, parolası, лозинка, пароли, парол[ья]?, паролем,
    кодовое слово, парола(?:та)?, κωδικ[όο]ς(?: πρόσβασης)?, συνθηματικό, סיסמ[הא], הסיסמה,
    كلمة (?:ال)?(?:مرور|سر), رمز (?:عبور|المرور), گذرواژه, پاس ?ورد, पासवर्ड, কূটশব্দ|পাসওয়ার্ড, கடவுச்சொல்,
    รหัสผ่าน, m[ậa]t kh[ẩa]u, kata ?sandi, kata laluan, sandi, nywila, neno la siri, 密\s?码, 密碼, 口令,
    パスワード, パスフレーズ, 暗証番号, 비밀번호, 비번, 암호, 패스워드
    """
)

# Words for keys and tokens; their values are long or odd.
TOKEN_WORDS = listed(
    r"""
    secret[s]?, token[s]?, api[ _.-]?key[s]?, apikey[s]?, api[ _.-]?secret, api[ _.-]?token,
    access[ _.-]?keys?, credential[s]?, creds?, private[ _.-]?key, signing[ _.-]?key, encryption[ _.-]?key,
    master[ _.-]?key, shared[ _.-]?key, account[ _.-]?key, auth[ _.-]?key, auth[ _.-]?code, authtoken,
    bearer, client[ _.-]?secret, webhook[ _.-]?secret, connection[ _.-]?string,
    secret[ _.-]?key(?:[ _.-]?base)?, secretkey, pre[ _.-]?shared[ _.-]?key, psk, license[ _.-]?key,
    serial[ _.-]?key, deploy[ _.-]?key, session[ _.-]?(?:id|key|cookie|token), sessionid, jsessionid,
    phpsessid, totp(?:[ _.-]?(?:seed|secret))?, otp[ _.-]?(?:seed|secret)?, mfa[ _.-]?(?:seed|secret),
    2fa[ _.-]?(?:seed|secret|code), recovery[ _.-]?(?:code|key)s?, backup[ _.-]?codes?, seed, salt, pepper,
    pin, unlock[ _.-]?(?:code|key), join[ _.-]?key, host[ _.-]?key, auth, dsn, pat, jwt, cookie, pw, pass,
    key, passkey, fernet, hmac, consumer[ _.-]?(?:key|secret), app[ _.-]?(?:key|secret), storage[ _.-]?key,
    sas, community, requirepass, masterauth, masteruser[ _.-]?password, auth[ _.-]?string, pgpassword,
    mysql_pwd, kubeconfig, login, (?:zugangs|api-?|geheim|zugriffs)(?:schl[üu]ssel|token), schl[üu]ssel,
    geheimnis, zugangsdaten, anmeldedaten, token d['’]acc[eè]s,
    cl[ée](?: secr[eè]te| d['’]api| api| priv[ée]e), jeton, identifiants?, llave, ficha, credencial(?:es)?,
    secreto, clave (?:api|secreta), chave(?: de api| secreta| api)?, segredo, credenciais,
    chiave(?: api| segreta)?, segreto, credenziali, gettone, sleutel, geheim, nyckel, hemlighet, n[øo]gle,
    hemmelighed, n[øo]kkel, avain, klucz(?: api)?, sekret, kl[ií][čc], tajemstv[ií], kulcs, titok, cheie,
    anahtar(?:ı)?, секрет, токен, ключ, ключ доступа, учётные данные, таємниця, ключ доступу, тайна, κλειδί,
    μυστικό, מפתח, סוד, المفتاح|مفتاح, الرمز|رمز, کلید, कुंजी, टोकन, กุญแจ, โทเค็น|โทเคน, khóa|khoá, kunci,
    rahasia, 密钥|密鑰|金鑰, 令牌, 秘钥|秘鑰, 凭证|憑證, 凭据, トークン, シークレット, 秘密鍵, キー, 토큰,
    비밀키, 시크릿, 키
    """
)

# Before the word inside one identifier: the thing is public, or a key of another sort.
KEY_BEFORE = words(
    """
    public pub primary foreign sort cache partition idempotency dict group row lookup natural composite index
    hash object routing publishable site unique join partial max min total input output num n count next page
    prev previous bucket dedup dedupe query param map json yaml config feature flag i18n translation locale hot
    arrow shortcut registry node event message msg topic kafka state error exit status http return zip postal
    country area source byte qr bar color colour currency language lang promo discount invite referral review
    window type by on no any each every same other test tests file files image git commit content build release
    cluster tenant user skill
    """
)
TOKEN_BEFORE = words(
    """
    public publishable prompt completion max min total input output num n count next page prev previous
    continuation pagination cursor sync cancel cancellation reasoning cached audio eos bos pad unk stop special
    per used remaining no any each every
    """
)
HARMLESS_AFTER = words(
    """
    name names id ids count counts url uri path file files filename type types field fields length len policy
    policies ttl expiry expires expiration expire exp limit limits budget arn ref refs hint label prefix suffix
    version provider providers rotation manager store vault reset min max size format algorithm alg regex
    pattern env var index usage used hasher hashers validator validators strength bucket bucketer izer ize ized
    izer's page pages form input endpoint scope scopes audience issuer required enabled disabled valid invalid
    error errors exception handler helper service class model table column col row schema rule rules age
    lifetime duration period days seconds s per rate window leak leaks leaked lookup less manager stem set map
    list ring chain pair pairs board word words space mode method location dir directory mount source server
    host port cert fingerprint digest checksum sum public backend engine class plugin plural kind status state
    case cases owner note notes docs doc help text title message msg template mgr cache cached counter stats
    info meta metadata test tests spec generator gen factory builder parser reader writer loader rotate rotated
    rotates refresh refreshes refreshed expired change changed changes update updated prompt bytes bits stroke
    code up down press pressed event events frame frames
    """
)
# After the word, and secret all the same.
STILL_SECRET_AFTER = words(
    """
    prod production dev development stage staging test live old new current default value val string str text
    plain plaintext raw base base64 b64 enc encoded hex pem data main primary secondary admin root user db
    database master slave read write ro rw api key keys secret secrets token tokens password pass hash salt seed
    x a b c
    """
)
