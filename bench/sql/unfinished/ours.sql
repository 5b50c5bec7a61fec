select exists (select from ostinato_data.ready)
    or exists (select from ostinato_data.scheduled)
    or exists (select from ostinato_data.claim)
