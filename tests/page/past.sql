-- Makes time pass: fills a registry with leases, one after the other on each GPU, and with troubles. The table setting
-- says how many GPUs there are, for how many days, how long a lease lasts on average in minutes, and the present in
-- milliseconds. The GPUs are those of tests/worlds/driver-root; the numbers look random and are the same each time.
CREATE TEMP TABLE past AS
WITH RECURSIVE
  gpu (g) AS (SELECT 0 UNION ALL SELECT g + 1 FROM gpu, setting WHERE g + 1 < gpus),
  step (g, n, since, until) AS (
    SELECT g, 0, now - days * 86400000, now - days * 86400000 + (1 + g * 37 % 100) * minutes * 600 FROM gpu, setting
    UNION ALL
    SELECT g, n + 1,
      until + CASE WHEN (g * 31 + n * 17) % 3 = 0 THEN (g * 7919 + n * 104729) % 97 * minutes * 400 ELSE 60000 END,
      until + CASE WHEN (g * 31 + n * 17) % 3 = 0 THEN (g * 7919 + n * 104729) % 97 * minutes * 400 ELSE 60000 END
        + (20 + (g * 611953 + n * 15485863) % 160) * minutes * 600
    FROM step, setting WHERE until < now - 7200000)
SELECT g, n, row_number() OVER (ORDER BY since, g) AS id, since, min(until, now - 3600000) AS until,
  printf('GPU-%08x-1d2c-4e5f-8a9b-0123456789%02x', 0x5c1a0000 + 4099 * g, g) AS uuid,
  (g * 3 + n * 5 + n / 4) % 6 AS u
FROM step, setting WHERE n > 0 AND since < now - 7200000;

INSERT INTO claim (id, origin, engine, image, uid, owner, created, container, name, forgotten)
SELECT printf('%012x', id), 'engine', 'past', 'nvidia/cuda:12.4', 2000 + u,
  CASE u WHEN 0 THEN 'alice' WHEN 1 THEN 'bob' WHEN 2 THEN 'carol' WHEN 3 THEN 'dave' WHEN 4 THEN 'erin'
    ELSE '<img src=x onerror=alert(1)>' END,
  since, printf('%064x', id),
  CASE u WHEN 5 THEN '"><script>alert(1)</script>' WHEN 1 THEN 'eval-' || n WHEN 3 THEN 'notebook' ELSE 'train-' || n END,
  until
FROM past;
INSERT INTO claim_gpu (claim, gpu, position, minor) SELECT printf('%012x', id), uuid, g, g FROM past;
INSERT INTO lease (id, claim, holder, boot, pid, start, since, until, evidence)
SELECT id, printf('%012x', id), 'held', 'past', 1, 1, since, until,
  'its first process (pid ' || (3000 + n) || ') is gone'
FROM past;
INSERT INTO lease_gpu (lease, gpu, live) SELECT id, uuid, 0 FROM past;
INSERT INTO gpu (uuid, idle_since) SELECT uuid, max(until) FROM past GROUP BY uuid;

-- The last holder of GPU 4 had another container beside it.
INSERT INTO claim (id, origin, engine, image, uid, owner, created, container, name, forgotten, beside)
SELECT printf('b%011x', id), 'engine', 'past', 'nvidia/cuda:12.4', 2000 + u, 'alice', since, printf('b%063x', id),
  'beside', until, printf('%012x', id)
FROM past WHERE g = 4 ORDER BY n DESC LIMIT 1;
INSERT INTO claim_gpu (claim, gpu, position, minor)
SELECT printf('b%011x', id), uuid, g, g FROM past WHERE g = 4 ORDER BY n DESC LIMIT 1;
INSERT INTO lease (id, claim, holder, boot, pid, start, since, until, evidence, joined)
SELECT id + 1000000, printf('b%011x', id), 'held', 'past', 1, 1, since + (until - since) / 4, until,
  'its first process (pid 3000) is gone', 1
FROM past WHERE g = 4 ORDER BY n DESC LIMIT 1;
INSERT INTO lease_gpu (lease, gpu, live) SELECT id, uuid, 0 FROM (SELECT id + 1000000 AS id, uuid FROM past WHERE g = 4
ORDER BY n DESC LIMIT 1);

-- Notebooks are idle after their first hour, others now and then.
INSERT INTO idle (lease, gpu, hour, millis)
WITH RECURSIVE hour (h) AS (SELECT 0 UNION ALL SELECT h + 1 FROM hour WHERE h < 40)
SELECT id, uuid, h, min(3600000, until - since - h * 3600000) * CASE WHEN h = 1 THEN 0.5 ELSE 1 END
FROM past, hour
WHERE since + h * 3600000 < until AND (u = 3 AND h > 0 OR u = 0 AND h IN (2, 3) AND n % 2 = 0);

INSERT INTO trouble (gpu, state, user, since, until)
SELECT uuid, CASE g WHEN 2 THEN 'unmanaged' WHEN 5 THEN 'cordoned' ELSE 'sick' END,
  CASE g WHEN 2 THEN 'mallory' END, max(until) + 300000, max(until) + 2700000
FROM past WHERE g IN (2, 5, 7) GROUP BY g;
-- Longer ones in the gaps between two leases.
INSERT OR IGNORE INTO trouble (gpu, state, user, since, until)
SELECT uuid, CASE g % 3 WHEN 0 THEN 'cordoned' WHEN 1 THEN 'unmanaged' ELSE 'sick' END,
  CASE g % 3 WHEN 1 THEN 'mallory' END, until + 60000, next - 60000
FROM (SELECT *, lead(since) OVER (PARTITION BY g ORDER BY n) AS next FROM past)
WHERE next - until > 7200000 AND (n + g) % 2 = 0;
