import { describe, expect, it } from 'vitest';
import { claimFault, isDomain, matchesAttribute } from '../../functions/auth/token-attributes.ts';

describe('A claim matches', () => {
  const groups = { kind: 'claim', claim: 'groups', value: 'ops' } as const;

  it('if it is the value, or a list that holds it', () => {
    expect(matchesAttribute({ groups: 'ops' }, groups)).toBe(true);
    expect(matchesAttribute({ groups: ['dev', 'ops'] }, groups)).toBe(true);
  });

  it.each([
    ['a part of it', 'devops'],
    ['a list in one text', 'dev ops'],
    ['a list in one text with commas', 'dev,ops'],
    ['another case', 'OPS'],
    ['spaces around it', ' ops'],
    ['a list of parts', ['devops', 'ops-readonly']],
    ['a list in a list', [['ops']]],
    ['an object', { ops: true }],
    ['an object with a method that says yes', { includes: 'ops' }],
    ['nothing', undefined],
    ['null', null],
    ['true', true],
  ])('not if it is %s', (_, value) => {
    expect(matchesAttribute({ groups: value }, groups)).toBe(false);
  });

  it('not a number that is written like the value', () => {
    const match = { kind: 'claim', claim: 'groups', value: '1' } as const;
    expect(matchesAttribute({ groups: [1] }, match)).toBe(false);
    expect(matchesAttribute({ groups: 1 }, match)).toBe(false);
  });

  it('not what every object inherits', () => {
    for (const claim of ['constructor', 'toString', '__proto__']) {
      expect(matchesAttribute({}, { kind: 'claim', claim, value: '' })).toBe(false);
      expect(matchesAttribute({}, { kind: 'claim', claim, value: 'Object' })).toBe(false);
    }
    const inherited = Object.create({ groups: 'ops' }) as Record<string, unknown>;
    expect(matchesAttribute(inherited, groups)).toBe(false);
  });

  it('not in the provider’s pointer to a list that is elsewhere', () => {
    const overage = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://x' } } };
    expect(matchesAttribute(overage, groups)).toBe(false);
  });
});

describe('A verified e-mail domain matches', () => {
  const match = { kind: 'email_domain', domain: 'corp.com' } as const;
  const of = (email: unknown, verified: unknown = true): boolean =>
    matchesAttribute({ email, email_verified: verified } as never, match);

  it('the domain of the address, in any case', () => {
    expect(of('ada@corp.com')).toBe(true);
    expect(of('ada+map@CORP.com')).toBe(true);
  });

  it.each([
    ['a text that says so', 'true'],
    ['1', 1],
    ['false', false],
    ['nothing', undefined],
    ['null', null],
  ])('only if the provider says true: not %s', (_, verified) => {
    expect(matchesAttribute({ email: 'ada@corp.com', email_verified: verified } as never, match)).toBe(false);
  });

  it.each([
    'ada@evil.com',
    'ada@sub.corp.com',
    'ada@corp.com.evil.com',
    'ada@evilcorp.com',
    'ada@corp.com.',
    'ada@corp.com ',
    'ada@corp.com\n',
    'ada@evil.com@corp.com',
    '"ada@corp.com"@evil.com',
    'ada@corp.com@evil.com',
    '"ada evil"@corp.com',
    '@corp.com',
    'corp.com',
    'ada@ⅽorp.com',
    'ada@corp。com',
    'ada@\u212Aorp.com',
    'ada\u202e@corp.com',
    '',
  ])('not of %j', (email) => {
    expect(of(email)).toBe(false);
  });

  it('not where a letter beyond ASCII becomes an ASCII one in lower case', () => {
    const kelvin = { kind: 'email_domain', domain: 'kelvin.com' } as const;
    expect(matchesAttribute({ email: 'a@\u212Aelvin.com', email_verified: true }, kelvin)).toBe(false);
  });
});

describe('What can be registered', () => {
  it('is a claim that the provider alone decides', () => {
    for (const claim of ['groups', 'roles', 'cognito:groups', 'https://corp.com/groups']) {
      expect(claimFault(claim)).toBe(undefined);
    }
    expect(claimFault('name')).toBe(
      'is "name", which does not say what somebody may do; name one that the provider alone decides, such as groups or roles',
    );
    expect(claimFault('email')).toMatch(/register an email_domain, or the subject$/);
    expect(claimFault('sub')).toMatch(/give it as subject$/);
    for (const claim of ['aud', 'azp', 'preferred_username', 'email_verified', '_claim_names']) {
      expect(claimFault(claim)).not.toBe(undefined);
    }
  });

  it('is a domain as DNS has it, whole', () => {
    for (const good of ['corp.com', 'a.b-c.co.uk', 'x1.io', 'xn--bcher-kva.example'])
      expect(isDomain(good)).toBe(true);
    for (const bad of [
      'com',
      '.com',
      'corp.com.',
      '*.corp.com',
      '@corp.com',
      'Corp.com',
      'bücher.example',
      '-a.com',
      'a..b',
      '10.0.0.1',
      '',
    ]) {
      expect(isDomain(bad)).toBe(false);
    }
  });
});
