import { expect, test } from 'vitest';
import * as service from '../../../functions/core/map/condition.ts';
import * as page from '../../../functions/page/model/clusters.ts';

test('the page, which imports nothing of the service, has the conditions and the times of the service', () => {
  expect(page.CONDITIONS).toEqual(service.CONDITIONS);
  expect([page.STALE_RECEIVED_MS, page.STALE_COLLECTED_MS]).toEqual([
    service.STALE_RECEIVED_MS,
    service.STALE_COLLECTED_MS,
  ]);
});

test('a cluster is stale from a moment after its time on, and only while it is in the map', () => {
  const nowMs = 100 * 60_000;
  const facts = (receivedAgo: number, collectedAgo: number, included = true) => ({
    included,
    receivedAtMs: nowMs - receivedAgo,
    collectedAtMs: nowMs - collectedAgo,
  });
  expect(service.staleness(facts(180_000, 600_000), nowMs)).toBeUndefined();
  expect(service.staleness(facts(180_001, 0), nowMs)).toBe('received');
  expect(service.staleness(facts(0, 600_001), nowMs)).toBe('collected');
  expect(service.staleness(facts(180_001, 600_001, false), nowMs)).toBeUndefined();
});
