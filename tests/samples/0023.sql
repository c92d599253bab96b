update effects set waits_for = 'google', waits_until = now();
