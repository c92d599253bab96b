update deliveries set version_posted_at = now();
