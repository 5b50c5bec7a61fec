"""What the router of an application is made with: who asks, as whom, what may go wrong.

Below the applications, because they use it; `api` puts the routers together.
"""

from ostinato._core.base.extras import need

need("api", "ostinato.web")
