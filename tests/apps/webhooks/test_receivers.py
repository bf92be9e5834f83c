"""Receivers of every kind, and where nothing is sent to, whatever a name stands for."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apps.conductor.models import WebhookDelivery, WebhookEndpoint
from apps.conductor.webhooks import transport
from apps.conductor.webhooks.sending import deliver
from apps.conductor.webhooks.transport import Sent, post
from apps.ledger import clock
from tests.apps.webhooks.conftest import listening, only
from tests.apps.webhooks.test_endpoints import settle
from tests.support.cast import Cast
from tests.support.receiver import Behavior, Receiver, answering, dripping, hanging_up, nonsense, pouring, receiving
from tikitaka.webhooks.trying import SendFault

PUBLIC = "93.184.215.14"


def send(url: str, timeout_s: float = 2, private: str = "localhost", *addresses: str) -> Sent:
    """Sends where the host of the address is said to have `addresses`."""
    resolver = (lambda host, port: list(addresses)) if addresses else transport.resolve
    return post(url, headers={}, body=b"{}", timeout_s=timeout_s, private=[private], resolver=resolver)


class TestHostileReceivers:
    def send(self, receiver: Receiver, behavior: Behavior, timeout_s: float = 1.0) -> Sent:
        receiver.behavior = behavior
        begun = time.monotonic()
        sent = send(receiver.url, timeout_s, "127.0.0.1")
        assert time.monotonic() - begun < timeout_s + 1.5
        return sent

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_not_followed(self, receiver: Receiver, status: int) -> None:
        with receiving() as inner:
            sent = self.send(receiver, answering(status, Location=inner.url))
            assert (sent.status, sent.fault) == (status, SendFault.REDIRECT)
            assert inner.calls == []

    def test_one_that_does_not_answer(self, receiver: Receiver) -> None:
        assert self.send(receiver, answering(200, after_s=3), 0.5).fault is SendFault.TIMEOUT

    def test_one_that_drips(self, receiver: Receiver) -> None:
        assert self.send(receiver, dripping).fault is SendFault.TIMEOUT

    def test_one_that_pours(self, receiver: Receiver) -> None:
        assert self.send(receiver, pouring).fault is None
        time.sleep(0.2)
        assert receiver.poured < 64 * 2**20  # what the sockets hold, not what it would have sent

    def test_one_whose_body_never_ends_has_received_it(self, receiver: Receiver) -> None:
        def hold(handler: Any) -> None:
            answering(200, **{"Content-Length": "100000"})(handler)
            time.sleep(2)

        assert self.send(receiver, hold, 0.5).fault is None

    @pytest.mark.parametrize("behavior", [nonsense, hanging_up])
    def test_one_that_speaks_something_else(self, receiver: Receiver, behavior: Behavior) -> None:
        assert self.send(receiver, behavior).fault is SendFault.PROTOCOL

    def test_a_header_without_end(self, receiver: Receiver) -> None:
        def headers(handler: Any) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-Much: " + b"y" * 1_000_000 + b"\r\n\r\n")

        assert self.send(receiver, headers).fault is SendFault.PROTOCOL

    def test_nobody_listens(self, receiver: Receiver) -> None:
        receiver.stop()
        assert send(receiver.url, 1, "127.0.0.1") == Sent(fault=SendFault.CONNECTION)

    @pytest.mark.django_db(transaction=True)
    def test_the_answer_is_kept_nowhere(self, committed_cast: Cast, receiver: Receiver) -> None:
        receiver.behavior = answering(500, b"a word of the receiver")
        endpoint, _ = listening(committed_cast, receiver)
        settle(committed_cast.team)
        deliver(endpoint.pk)
        rows = [*WebhookDelivery.objects.values_list(), *WebhookEndpoint.objects.values_list()]
        assert only().last_status == 500
        assert "a word of the receiver" not in str(rows)


class TestWhereItIsSent:
    """A name that was public when it was typed may stand for something else when it is used."""

    @pytest.mark.django_db(transaction=True)
    def test_a_name_that_has_moved_into_the_inner_network(
        self, committed_cast: Cast, receiver: Receiver, settings: Any
    ) -> None:
        settings.TIKITAKA_WEBHOOK_PRIVATE = []
        url = f"https://hooks.example.com:{receiver.port}/"
        endpoint, _ = listening(committed_cast, receiver, url=url, resolver=lambda host, port: [PUBLIC])
        settle(committed_cast.team)
        for moved, reason in ((["127.0.0.1"], "private_address"), ([], "unresolved")):
            WebhookDelivery.objects.update(next_at=clock.now())
            WebhookEndpoint.objects.update(quiet_until=None)
            deliver(endpoint.pk, resolver=lambda host, port, moved=moved: moved)
            assert only().error == reason
        assert receiver.calls == []

    @pytest.mark.django_db(transaction=True)
    def test_a_host_that_is_allowed_no_more(self, committed_cast: Cast, receiver: Receiver, settings: Any) -> None:
        endpoint, _ = listening(committed_cast, receiver)
        settle(committed_cast.team)
        settings.TIKITAKA_WEBHOOK_PRIVATE = []
        deliver(endpoint.pk)
        assert only().error == "private_address"
        assert receiver.calls == []

    def test_the_connection_goes_to_the_addresses_that_were_judged(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever looked the name up a second time could be told another address; here nobody may."""
        real = transport.socket.getaddrinfo

        def literal(host: str, *args: Any, **options: Any) -> Any:
            assert host == "127.0.0.1", "a name was looked up again"
            return real(host, *args, **options)

        monkeypatch.setattr(transport.socket, "getaddrinfo", literal)
        sent = send(f"http://localhost:{receiver.port}/", 2, "localhost", "127.0.0.1")
        assert sent == Sent(status=204)
        assert receiver.calls[0].headers["host"] == f"localhost:{receiver.port}"

    def test_an_address_that_is_away_is_followed_by_the_next(self, receiver: Receiver) -> None:
        sent = send(f"http://localhost:{receiver.port}/", 2, "localhost", "127.0.0.9", "127.0.0.1")
        assert sent == Sent(status=204)

    @pytest.mark.parametrize("url", ["ftp://x/", "http://example.com/", "https://a@example.com/"])
    def test_an_address_that_is_no_longer_one(self, url: str) -> None:
        assert send(url) == Sent(fault=SendFault.BAD_URL)

    def test_no_proxy_of_the_environment_is_asked(self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        assert send(receiver.url, 2, "127.0.0.1") == Sent(status=204)

    def test_a_name_that_does_not_exist(self) -> None:
        assert transport.resolve("x" * 70 + ".invalid", 443) == []


class TestTls:
    @pytest.fixture
    def secured(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
        """A receiver whose certificate is for hooks.test, and this process trusts it."""
        pem = certificate(tmp_path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        transport._tls.cache_clear()
        with receiving(tls=context) as receiver:
            yield receiver
        transport._tls.cache_clear()

    def send(self, receiver: Receiver, host: str) -> Sent:
        return send(f"https://{host}:{receiver.port}/", 3, host, "127.0.0.1")

    def test_the_certificate_is_checked_against_the_name_and_not_the_address(self, secured: Receiver) -> None:
        assert self.send(secured, "hooks.test") == Sent(status=204)
        assert self.send(secured, "other.test") == Sent(fault=SendFault.TLS)
        assert len(secured.calls) == 1

    def test_one_that_nobody_trusts(self, secured: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("SSL_CERT_FILE")
        transport._tls.cache_clear()
        assert self.send(secured, "hooks.test") == Sent(fault=SendFault.TLS)
        assert secured.calls == []

    def test_one_that_speaks_no_tls(self, receiver: Receiver) -> None:
        assert self.send(receiver, "hooks.test").fault is SendFault.TLS


def certificate(folder: Path) -> Path:
    """A key and a certificate that signs itself, for an hour."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path = folder / "receiver.pem"
    path.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()) + made.public_bytes(pem))
    return path
