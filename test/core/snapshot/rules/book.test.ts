import { expect, it } from 'vitest';
import { RULE_BOOK, renderRuleBook } from '../../../../functions/core/snapshot/rules/book.ts';
import {
  ClusterResourceMapSchema,
  PurchaseModelSchema,
  WorkloadKindSchema,
  WorkloadPhaseSchema,
} from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { RULE_CASES } from './rule-cases.ts';

const RULES = RULE_BOOK.flatMap((section) => section.rules);

/** Codes that tests of their own cover: identity, succession, node types, ids. */
const COVERED_ELSEWHERE = [
  'invalid_id',
  'missing_cluster_id',
  'cluster_id_mismatch',
  'missing_collected_at',
  'invalid_timestamp',
  'collected_in_future',
  'missing_counter',
  'counter_exhausted',
  'counter_jump',
  'collected_at_regressed',
  'identity_changed',
  'node_type_changed',
  'pool_gone',
  'snapshot_emptied',
];

it('has every code once', () => {
  const codes = RULES.map((rule) => rule.code);
  expect(new Set(codes).size).toBe(codes.length);
});

it('is covered case by case', () => {
  const covered = new Set([...RULE_CASES.map((c) => c.code), ...COVERED_ELSEWHERE]);
  expect([...covered].sort()).toEqual(RULES.map((rule) => rule.code).sort());
});

it('points at fields that the contract has', () => {
  for (const path of RULES.flatMap((rule) => rule.at)) {
    let message: typeof ClusterResourceMapSchema | undefined = ClusterResourceMapSchema;
    for (const name of path.replaceAll('[]', '').split('.')) {
      const field = message?.fields.find((candidate) => candidate.name === name);
      expect(field, `${name} of ${path}`).toBeDefined();
      message = field?.message as typeof message;
    }
  }
});

it.each([PurchaseModelSchema, WorkloadKindSchema, WorkloadPhaseSchema])(
  'relies on $name being numbered from 0 without gaps',
  ({ values }) => {
    expect(values.map((value) => value.number)).toEqual(values.map((_, i) => i));
  },
);

it('is what docs/rules.md says (make it again with `npm run docs:rules`)', async () => {
  await expect(renderRuleBook()).toMatchFileSnapshot('../../../../docs/rules.md');
});
