update directories set asked_at = now();
