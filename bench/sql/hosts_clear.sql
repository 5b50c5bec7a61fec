delete from ostinato_data.ready
