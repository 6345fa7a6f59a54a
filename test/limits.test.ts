import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as storedBundles from '../functions/core/bundle/live/limits.ts';
import * as bundle from '../functions/core/bundle/model/limits.ts';
import * as fit from '../functions/core/capacity/fit/limits.ts';
import * as packing from '../functions/core/capacity/packing/limits.ts';
import * as claims from '../functions/core/claims/limits.ts';
import * as snapshot from '../functions/core/snapshot/limits.ts';
import * as http from '../functions/http/limits.ts';
import * as store from '../functions/storage/limits.ts';

type Values = Readonly<Record<string, number | bigint>>;

/** Each stands beside the code that it binds, which knows nothing of the others; the page lists them together. */
const AREAS: readonly (readonly [file: string, heading: string, values: Values])[] = [
  ['http/limits.ts', 'Any request', http],
  ['core/snapshot/limits.ts', 'A snapshot', snapshot],
  ['core/capacity/fit/limits.ts', 'A question whether work fits', fit],
  ['core/capacity/packing/limits.ts', 'The search for a packing', packing],
  ['core/claims/limits.ts', 'A claim', claims],
  ['core/bundle/live/limits.ts', 'Bundles that are stored', storedBundles],
  ['core/bundle/model/limits.ts', 'A request about bundles', bundle],
  ['storage/limits.ts', 'Pools that are kept', store],
];

interface Limit {
  readonly name: string;
  readonly value: number | bigint;
  readonly reason: string;
}

function limitsOf(file: string, values: Values): readonly Limit[] {
  const source = readFileSync(join('functions', file), 'utf8');
  const reasons = new Map(
    [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport const (\w+)/g)].map(
      ([, comment = '', name = '']) => [name, comment.replace(/\s*\n \*\s?/g, ' ').trim()],
    ),
  );
  return Object.entries(values).map(([name, value]) => ({ name, value, reason: reasons.get(name) ?? '' }));
}

/** Links of TSDoc are names here, and a bar would end the cell. */
function cell(reason: string): string {
  return reason.replace(/\{@link (\w+)\}/g, '`$1`').replaceAll('|', '\\|');
}

function render(): string {
  const parts = [
    '# Limits',
    '',
    'What one request may cost. Each number is in the code beside what it limits, with its reason; this page is',
    'made from there (`npm run docs:limits`). What goes beyond is answered with a 4xx or, where others hold what there',
    'is, with 429 or 503 and `Retry-After`.',
  ];
  for (const [file, heading, values] of AREAS) {
    // The order of the file, which is by what belongs together.
    const source = readFileSync(join('functions', file), 'utf8');
    const limits = [...limitsOf(file, values)].sort(
      (a, b) => source.indexOf(`const ${a.name} `) - source.indexOf(`const ${b.name} `),
    );
    parts.push('', `## ${heading}`, '', `In \`functions/${file}\`.`, '', '| | | |', '| --- | ---: | --- |');
    for (const { name, value, reason } of limits) {
      parts.push(`| \`${name}\` | ${value.toLocaleString('en-US')} | ${cell(reason)} |`);
    }
  }
  return `${parts.join('\n')}\n`;
}

it('Every file of limits is on the page', () => {
  const files = readdirSync('functions', { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?:^|[\\/])limits\.ts$/.test(file),
  );
  expect(files.sort()).toEqual(AREAS.map(([file]) => file).sort());
});

it.each(AREAS)('Each limit of %s has its reason', (file, _, values) => {
  const limits = limitsOf(file, values);
  expect(limits.length).toBeGreaterThan(0);
  expect(limits.filter(({ reason }) => reason.length < 15).map(({ name }) => name)).toEqual([]);
});

it('docs/limits.md is made from them (make it again with `npm run docs:limits`)', async () => {
  await expect(render()).toMatchFileSnapshot('../docs/limits.md');
});
