import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { matches, type Pattern } from './event-pattern.ts';
import { documentedTypes, eventFaults } from './event-schemas.ts';

const page = readFileSync(new URL('../../../docs/events.md', import.meta.url), 'utf8');
const [example, ...rules] = [...page.matchAll(/```json\n(.*?)```/gs)].map(
  ([, text]) => JSON.parse(text ?? '') as Record<string, unknown>,
);
const [inRegion, h100Freed, productionOmitted, silent] = rules as unknown as readonly Pattern[];

type Detail = Record<string, unknown>;

function event(type: string, detail: Detail): Record<string, unknown> {
  return { ...example, 'detail-type': type, detail: { ...(example?.detail as Detail), ...detail } };
}
const omitted = event('Cluster Omitted', {
  changes: ['CLUSTER_CHANGE_KIND_OMITTED'],
  state: 'CLUSTER_STATE_OMITTED',
  reason: 'silent',
  acceleratorsFreed: [],
});

describe('docs/events.md', () => {
  it('names every type and links its schema', () => {
    for (const type of documentedTypes) {
      const file = `${type.toLowerCase().replaceAll(' ', '-')}.schema.json`;
      expect(page).toMatch(new RegExp(`\\| \`${type}\` +\\|.*\\]\\(events/${file}\\)`));
    }
  });

  it('shows an event that is one', () => {
    expect(eventFaults(example)).toEqual([]);
    expect(eventFaults(omitted)).toEqual([]);
  });

  it.each<[string, Pattern | undefined, Record<string, unknown>, boolean]>([
    ['any change in a region', inRegion, example ?? {}, true],
    [
      'any change in a region',
      inRegion,
      event('Cluster Published', { cluster: { region: 'us-east-1' } }),
      false,
    ],
    ['freed H100s', h100Freed, example ?? {}, true],
    ['freed H100s', h100Freed, event('Cluster Published', { acceleratorsFreed: ['NVIDIA L4'] }), false],
    ['freed H100s', h100Freed, event('Cluster Published', { acceleratorsFreed: [] }), false],
    ['omitted production clusters', productionOmitted, omitted, true],
    [
      'omitted production clusters',
      productionOmitted,
      event('Cluster Returned', {
        changes: ['CLUSTER_CHANGE_KIND_OMITTED', 'CLUSTER_CHANGE_KIND_RETURNED'],
      }),
      true,
    ],
    ['omitted production clusters', productionOmitted, example ?? {}, false],
    ['silent clusters', silent, omitted, true],
    [
      'silent clusters',
      silent,
      { ...omitted, detail: { ...(omitted.detail as Detail), reason: 'deleted' } },
      false,
    ],
  ])('shows a rule for %s that matches what it should (%#)', (_, rule, subject, expected) => {
    if (rule === undefined) throw new Error('The page has no such rule.');
    expect(matches(rule, subject)).toBe(expected);
  });

  it('shows no rule that nothing tries', () => {
    expect(rules).toHaveLength(4);
  });
});
