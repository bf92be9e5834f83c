"""Where events may go: addresses that are refused by name, and addresses that only look public."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tikitaka.webhooks.addresses import Target, UrlFault, is_public, judge, target_of

PUBLIC = "93.184.215.14"


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://hooks.example.com/in?a=1", "hooks.example.com", 443),
        ("https://HOOKS.example.com:8443", "hooks.example.com", 8443),
        (f"https://{PUBLIC}/", PUBLIC, 443),
        ("https://[2606:4700::1]:444/x", "2606:4700::1", 444),
        ("http://localhost:9000/x", "localhost", 9000),
        ("http://127.0.0.1/x", "127.0.0.1", 80),
        ("http://[::1]:81/", "::1", 81),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
        ("https://example.com./", "example.com.", 443),
        ("https://a_b.example.com/", "a_b.example.com", 443),
    ],
)
def test_an_address(url: str, host: str, port: int) -> None:
    found = target_of(url)
    assert isinstance(found, Target)
    assert (found.url, found.host, found.port, found.secure) == (url, host, port, url.startswith("https"))


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("", "url_malformed"),
        ("hooks.example.com", "url_scheme"),
        ("ftp://example.com/", "url_scheme"),
        ("file:///etc/passwd", "url_scheme"),
        ("gopher://127.0.0.1:6379/_x", "url_scheme"),
        ("http://example.com/", "url_not_https"),
        ("http://10.0.0.1/", "url_not_https"),
        ("http://localhost.example.com/", "url_not_https"),
        ("http://127.0.0.1.example.com/", "url_not_https"),
        ("https://user@example.com/", "url_credentials"),
        ("https://user:word@example.com/", "url_credentials"),
        ("https://example.com@169.254.169.254/", "url_credentials"),
        ("https://example.com/#x", "url_fragment"),
        ("https://example.com/#", "url_fragment"),
        ("https:///x", "url_malformed"),
        ("https://", "url_malformed"),
        ("https://example.com:0/", "url_malformed"),
        ("https://example.com:99999/", "url_malformed"),
        ("https://example.com:x/", "url_malformed"),
        ("https://[::1/", "url_malformed"),
        ("https://[fe80::1%25eth0]/", "url_malformed"),
        ("https://exa mple.com/", "url_malformed"),
        ("https://example.com/\r\nHost: x", "url_malformed"),
        ("https://example.com\\@10.0.0.1/", "url_malformed"),
        ("https://bücher.example/", "url_malformed"),
        ("https://ⅼocalhost/", "url_malformed"),
        ("https://a..b/", "url_malformed"),
        ("https://-a.example/", "url_malformed"),
        ("https://2130706433/", "url_malformed"),
        ("https://127.1/", "url_malformed"),
        ("https://0x7f.1/", "url_malformed"),
        ("https://0x7f000001/", "url_malformed"),
        ("https://017700000001/", "url_malformed"),
        ("https://127.0.0.01/", "url_malformed"),
        ("https://" + "a." * 130 + "com/", "url_malformed"),
        ("https://example.com/" + "x" * 500, "url_too_long"),
    ],
)
def test_what_is_none(url: str, fault: str) -> None:
    assert target_of(url) == UrlFault(fault)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1",
        "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1",
        "2001::1", "2001:db8::1", "2002:a00:1::1", "fc00::1", "fd12::1", "fe80::1", "fe80::1%eth0", "fec0::1",
        "ff02::1", "3fff::1", "not an address", "",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "1.1.1.1", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"])
def test_addresses_that_are(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_python_calls_otherwise(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """A second opinion, by somebody else's tables."""
    if is_public(str(address)):
        assert address.is_global
        named = ("is_multicast", "is_private", "is_loopback", "is_link_local", "is_reserved", "is_unspecified")
        assert not any(getattr(address, name) for name in named)


class TestJudging:
    def target(self, url: str = "https://hooks.example.com/") -> Target:
        found = target_of(url)
        assert isinstance(found, Target)
        return found

    def test_a_public_host(self) -> None:
        assert judge(self.target(), [PUBLIC, "2606:4700::1"], private=[]) is None

    def test_one_address_that_is_not_public_spoils_them_all(self) -> None:
        assert judge(self.target(), [PUBLIC, "10.0.0.1"], private=[]) is UrlFault.PRIVATE_ADDRESS

    def test_a_name_that_stands_for_nothing(self) -> None:
        assert judge(self.target(), [], private=["hooks.example.com"]) is UrlFault.UNRESOLVED

    @pytest.mark.parametrize("named", ["hooks.example.com", "HOOKS.example.com", "hooks.example.com."])
    def test_a_host_that_the_operator_allows(self, named: str) -> None:
        assert judge(self.target(), ["10.0.0.1"], private=[named]) is None

    @pytest.mark.parametrize("named", ["example.com", "x.hooks.example.com", "*", ""])
    def test_and_no_other(self, named: str) -> None:
        assert judge(self.target(), ["10.0.0.1"], private=[named]) is UrlFault.PRIVATE_ADDRESS

    def test_a_literal_in_brackets(self) -> None:
        assert judge(self.target("http://[::1]/"), ["::1"], private=["[::1]"]) is None
        assert judge(self.target("http://[::1]/"), ["::1"], private=[]) is UrlFault.PRIVATE_ADDRESS

    def test_without_tls_even_an_allowed_host_is_this_machine(self) -> None:
        local = self.target("http://localhost/")
        assert judge(local, ["127.0.0.1", "::1"], private=["localhost"]) is None
        assert judge(local, [PUBLIC], private=["localhost"]) is UrlFault.PRIVATE_ADDRESS
        assert judge(local, ["127.0.0.1", "10.0.0.1"], private=["localhost"]) is UrlFault.PRIVATE_ADDRESS
