"""An erasure blanks everything that the engine keeps about a person, and gives a certificate.

    from ostinato import erasure

    await send_invoice.options(subject="customer-7").enqueue(client, invoice_id=7)

    async with client.transaction() as conn:
        certificate = await erasure.erase(conn, "customer-7")
        print(certificate.complete, certificate.erased)

Jobs, events and webhooks that come from a job with a subject have it too. The guide is
`docs/erasure.md`.
"""

from ostinato._core.engine.erasure import Certificate, erase

__all__ = ["Certificate", "erase"]
