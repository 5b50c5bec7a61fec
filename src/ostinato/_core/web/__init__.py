"""The parts that an application's router is made with: callers, permissions, errors.

It stands below the applications, which use it; `api` puts the routers together.
"""

from ostinato._core.base.extras import need

need("api", "ostinato.web")
