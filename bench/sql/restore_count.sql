select count(*) from ostinato_data.ready
