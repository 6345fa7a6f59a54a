import { describe, expect, it } from 'vitest';
import { RULE_BOOK } from '../../../../functions/core/snapshot/rules/book.ts';
import { checkSnapshot, type RuleContext } from '../../../../functions/core/snapshot/rules/index.ts';
import { CLUSTER_ID, NOW_MS, snapshotOf } from '../builders.ts';
import { RULE_CASES } from './rule-cases.ts';

const context: RuleContext = { clusterId: CLUSTER_ID, nowMs: NOW_MS };
const RULES = RULE_BOOK.flatMap((section) => section.rules);

describe.each(RULES.filter(({ code }) => RULE_CASES.some((c) => c.code === code)))('$code', (rule) => {
  const cases = RULE_CASES.filter((c) => c.code === rule.code);

  it.each(cases)('is all that is found of $breaks', ({ broken, path, message }) => {
    const { code, severity } = rule;
    const warnings = severity === 'warn' ? 1 : 0;
    expect(checkSnapshot(snapshotOf(broken), context)).toEqual({
      findings: [{ code, severity, path, message }],
      omitted: 0,
      rejects: 1 - warnings,
      warnings,
    });
  });

  it.each(cases)('is not found of the nearest legal snapshot to $breaks', ({ legal }) => {
    expect(checkSnapshot(snapshotOf(legal), context).findings).toEqual([]);
  });

  const strictly = rule.alwaysWarns === true ? 'warns of' : 'refuses';
  it.each(cases)(`${strictly} $breaks where the push is strict`, ({ broken }) => {
    const { findings, rejects, warnings } = checkSnapshot(snapshotOf(broken), { ...context, strict: true });
    expect({ findings: findings.map((f) => [f.code, f.severity]), rejects, warnings }).toEqual({
      findings: [[rule.code, rule.alwaysWarns === true ? 'warn' : 'reject']],
      rejects: rule.alwaysWarns === true ? 0 : 1,
      warnings: rule.alwaysWarns === true ? 1 : 0,
    });
  });

  it('points where the book says that it points', () => {
    const found = new Set(cases.map(({ path }) => path.replace(/\[\d+\]/g, '[]')));
    expect(rule.at).toEqual(expect.arrayContaining([...found]));
    expect([...found]).toHaveLength(rule.at.length);
  });
});
