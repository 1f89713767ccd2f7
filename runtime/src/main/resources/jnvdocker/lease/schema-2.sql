-- What the history is read and cleared by: leases by their end, claims by when they were forgotten.

CREATE INDEX lease_by_end ON lease (until);
CREATE INDEX claim_forgotten ON claim (forgotten) WHERE forgotten IS NOT NULL;
