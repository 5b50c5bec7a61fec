-- INPI's token was stored in the clear. It lives for an hour at most: it is forgotten, and the next one is sealed.
update enrichment.source set token = null, token_until = null;
