update messages set said_at = at;
update conversations set strangers_at = created_at;
