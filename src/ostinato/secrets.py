"""Secrets are sealed before they are stored, and opened only by the code that needs them.

    from ostinato.secrets import SealedColumn, Secret

    TOKEN = SealedColumn("billing.account", "token", bound_to=("tenant_id", "name"))

    @app.job()
    async def pull(ctx: Context, pin: Annotated[str, Secret()]) -> None:        # sealed in the job
        sealed = ctx.vault.seal("sk_…", purpose=TOKEN.purpose("acme", "bank"))  # what the column stores
        token = ctx.vault.open(sealed, purpose=TOKEN.purpose("acme", "bank"))   # or SecretRefused

A handler has the vault as `ctx.vault`, a route as `caller.vault`, a command as `cli.settings.vault`.
The key comes from `OSTINATO_SECRET_KEY` or a file; `ostinato secrets new-key` makes one, `ostinato
secrets rotate` seals everything with the newest, the columns of applications too when their `App`
names them: `secrets="acme.billing.store:SECRETS"`. The guide is `docs/secrets.md`.
"""

from ostinato._core.base.vault import SealedColumn, Secret, Vault, is_sealed, key_id_of, new_key, purpose

__all__ = ["SealedColumn", "Secret", "Vault", "is_sealed", "key_id_of", "new_key", "purpose"]
