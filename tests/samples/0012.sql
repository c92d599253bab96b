-- A message that was opened and whose words were still coming.
update deliveries set streamed = 'open' where posted is not null;
