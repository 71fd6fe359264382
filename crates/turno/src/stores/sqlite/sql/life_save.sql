-- life_save
update life set identifier = ?1, timeline = ?2, started = ?3
