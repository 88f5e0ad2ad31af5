"""A server is spoken to over TLS when its certificate is trusted, and never otherwise."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from lembas_core.endpoints import Endpoint
from lembas_core.endpoints.values import Message, Part, Request
from lembas_core.errors import Unreachable
from support.replaying import Answer, Replay, chunk, done, fold, replay, sse

BODY = sse(chunk("Hello")) + done()
HELLO = Answer((BODY,), headers={"Content-Type": "text/event-stream", "Content-Length": str(len(BODY))})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for `localhost` that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, *form) + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def endpoint(server: Replay, host: str = "localhost") -> Endpoint:
    return Endpoint(f"https://{host}:{server.port}", kind="openai")


async def read(endpoint: Endpoint) -> list[Part]:
    async with endpoint.model("m").stream(Request("m", (Message("user", "hi"),))) as stream:
        return [part async for part in stream]


async def test_a_certificate_in_ones_own_trust_store_is_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with replay(HELLO, tls=serving(certificate)) as server, endpoint(server) as ours:
        assert fold(await read(ours)).text == "Hello"
        assert fold(await read(ours)).text == "Hello"
        assert server.connections == 1


async def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    async with replay(HELLO, tls=serving(certificate)) as server:
        with pytest.raises(Unreachable, match="certificate is not trusted: self-signed"):
            await read(endpoint(server))
        assert server.requests == []


async def test_a_certificate_for_another_host_is_refused(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with replay(HELLO, tls=serving(certificate)) as server:
        with pytest.raises(Unreachable, match="certificate is not trusted"):
            await read(endpoint(server, "127.0.0.1"))
        assert server.requests == []
