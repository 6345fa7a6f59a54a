/** The whole rule book, and its page in docs/, which is made of nothing else. */
import { enumRules } from './enums.ts';
import { identityRules } from './identity.ts';
import { idRules } from './ids.ts';
import { jobRules } from './jobs.ts';
import { lossRules } from './loss.ts';
import { nodeTypeSuccessionRules } from './node-type-succession.ts';
import { occupancyRules } from './occupancy.ts';
import { poolRules } from './pools.ts';
import { reservationRules } from './reservations.ts';
import type { Rule, Section } from './rule.ts';
import { successionRules } from './succession.ts';
import { topologyRules } from './topology.ts';

/** Every rule, by section. */
export const RULE_BOOK: readonly Section[] = [
  section('Everywhere', idRules, enumRules),
  section('Snapshot', identityRules),
  section('Against the last accepted snapshot', successionRules, nodeTypeSuccessionRules, lossRules),
  section('Pools and node types', poolRules),
  section('Occupancy', occupancyRules),
  section('Reservations', reservationRules),
  section('Jobs, ranks, chains, pods', jobRules),
  section('Topology, API resources, components', topologyRules),
];

function section(title: string, ...groups: readonly Readonly<Record<string, Rule>>[]): Section {
  return { title, rules: groups.flatMap((group) => Object.values(group)) };
}

/** The rule book in Markdown. */
export function renderRuleBook(): string {
  const rules = RULE_BOOK.flatMap((part) => part.rules);
  const rejects = rules.filter((rule) => rule.severity === 'reject').length;
  return [
    '# The rule book',
    '',
    '<!-- Made from functions/core/snapshot/rules by `npm run docs:rules`. Do not edit. -->',
    '',
    `A snapshot that breaks one of ${rejects} rules of severity **reject** is refused with 422 \`invalid_snapshot\`, and the map keeps the last good one. ` +
      `The other ${rules.length - rejects} **warn**: the snapshot is accepted, and they come back with the response and stand in the cluster’s status. ` +
      '`?strict=true` turns them into rejects, but for those marked **warn always**.',
    '',
    'Every finding is {`code`, `severity`, `path`, `message`}. All of them are reported, in document order, 1,000 in full and the rest as a count; a reject is never left out for a warning. ' +
      'The path is a field path with positions; the table gives it with `[]` for each. The message names the value and what would be right.',
    '',
    ...RULE_BOOK.flatMap(renderSection),
  ].join('\n');
}

function renderSection({ title, rules }: Section): readonly string[] {
  return [
    `## ${title}`,
    '',
    '| code | severity | what must be so | where a finding points |',
    '|---|---|---|---|',
    ...rules.map(
      ({ code, severity, says, at, alwaysWarns }) =>
        `| \`${code}\` | ${alwaysWarns === true ? 'warn always' : severity} | ${says} | ${at.map((path) => `\`${path}\``).join('<br>')} |`,
    ),
    '',
  ];
}
