import { describe, expect, test } from 'vitest';
import { readSettings, SettingError } from '../../infra/settings.ts';

const CERTIFICATE = 'arn:aws:acm:eu-central-1:111122223333:certificate/01234567-89ab-cdef-0123-456789abcdef';

describe('the settings', () => {
  test('have a default each, but for who is told and the domain', () => {
    expect(readSettings({})).toEqual({
      stage: 'dev',
      throwAway: false,
      paused: false,
      shards: 8,
      omitAfter: 900,
      retireAfter: 86_400,
      maxClockAheadSeconds: 300,
      announceRefreshes: false,
      pushesPerSecond: 1_200,
      readsPerSecond: 500,
      accessLog: false,
      longestWaitSeconds: 25,
      fleetMetrics: false,
      tracing: false,
      detailedMetrics: false,
      consumerAccounts: [],
      corsOrigins: [],
      logDays: 30,
      archiveDays: 30,
      page: {},
    });
  });

  test('are text on the command line and typed in cdk.json', () => {
    const typed = { shards: 16, throwAway: true, omitAfter: '5m', logDays: 90 };
    const asText = { shards: '16', throwAway: 'true', omitAfter: '300s', logDays: '90' };
    expect(readSettings(asText)).toEqual(readSettings(typed));
    expect(readSettings(typed)).toMatchObject({ shards: 16, throwAway: true, omitAfter: 300, logDays: 90 });
  });

  test('of a stage stand under its name, and the command line wins over them', () => {
    const context = {
      stages: { prod: { shards: 32, alarmEmail: 'on-call@example.com' }, dev: { shards: 2 } },
      stage: 'prod',
      shards: '64',
    };
    expect(readSettings(context)).toMatchObject({
      stage: 'prod',
      shards: 64,
      alarmEmail: 'on-call@example.com',
    });
  });

  test('of a stage named like a method of every object are its own', () => {
    expect(readSettings({ stages: {}, stage: 'constructor' }).shards).toBe(8);
  });

  test("leave CDK's own context alone", () => {
    expect(
      readSettings({ '@aws-cdk/core:checkSecretUsage': true, 'aws:cdk:enable-path-metadata': true }).stage,
    ).toBe('dev');
  });

  test('hold a domain with its certificate and, where wanted, its zone', () => {
    const context = { domainName: 'map.example.com', certificateArn: CERTIFICATE };
    expect(readSettings(context).domain).toEqual({ name: 'map.example.com', certificateArn: CERTIFICATE });
    expect(
      readSettings({ ...context, hostedZoneId: 'Z0123456789ABCDEFGHIJ', hostedZoneName: 'example.com' })
        .domain?.hostedZone,
    ).toEqual({ id: 'Z0123456789ABCDEFGHIJ', name: 'example.com' });
  });
});

describe('a wrong setting is refused with its value and the remedy', () => {
  test.each<readonly [Readonly<Record<string, unknown>>, string]>([
    [
      { stage: 'Prod' },
      'The setting stage is "Prod"; it must be 2 to 20 lower-case letters, digits and dashes, a letter first and no dash last.',
    ],
    [{ throwAway: 'yes' }, 'The setting throwAway is "yes"; it must be true or false.'],
    [{ shards: '0' }, 'The setting shards is "0"; it must be an integer from 1 to 256.'],
    [{ shards: 8.5 }, 'The setting shards is 8.5; it must be an integer from 1 to 256.'],
    [{ shards: '1e2' }, 'The setting shards is "1e2"; it must be an integer from 1 to 256.'],
    [{ omitAfter: '15' }, 'The setting omitAfter is "15"; it must be a duration like 90s, 15m, 24h or 2d.'],
    [
      { omitAfter: '10s' },
      'The setting omitAfter is "10s". omitAfter is 10 s; it must be from 30 s, within which a push may still be on its way, ' +
        "to 21600 s, beyond which a cluster's body could expire while it is in the map.",
    ],
    [
      { retireAfter: '30m' },
      'The setting retireAfter is "30m". retireAfter is 1800 s; it must be at least 3600 s. A push may be on its way for up to 900 s, ' +
        'and one that began before a cluster was omitted must have ended before it is retired, or it could bring back a lower counter.',
    ],
    [
      { pushesPerSecond: 20_000 },
      'The setting pushesPerSecond is 20000; it must be an integer from 1 to 10000.',
    ],
    [
      { logDays: '31' },
      'The setting logDays is "31"; it must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653.',
    ],
    [{ instanceTypes: 400 }, 'The setting instanceTypes is 400; it must be the path of a JSON file.'],
    [
      { instanceTypes: 'no/such.json' },
      'The setting instanceTypes is "no/such.json", which cannot be read: ENOENT: no such file or directory, open \'no/such.json\'.',
    ],
    [
      { instanceTypes: 'biome.json' },
      'The setting instanceTypes is "biome.json". The instance type "$schema" of the catalogue is "./node_modules/@biomejs/biome/configuration_schema.json"; it must be an object with totalCapacity or totalCores or both.',
    ],
    [
      { oidcIssuer: 'https://login.example.com' },
      'oidcIssuer and oidcClientId go together; set both, or none and paste tokens.',
    ],
    [
      { grafanaUrl: 'javascript:alert(1)' },
      'The setting grafanaUrl is "javascript:alert(1)"; it must be an https URL without user name.',
    ],
    [
      { oidcIssuer: 'https://login.example.com; script-src *' },
      'The setting oidcIssuer is "https://login.example.com; script-src *"; it must be an https URL without user name.',
    ],
    [{ alarmEmail: 'on-call' }, 'The setting alarmEmail is "on-call"; it must be an e-mail address.'],
    [
      { domainName: 'https://map.example.com' },
      'The setting domainName is "https://map.example.com"; it must be a host name like map.example.com.',
    ],
    [
      { domainName: 'map.example.com' },
      'domainName is "map.example.com", and has no certificate; set certificateArn to one in ACM for that name.',
    ],
    [
      { hostedZoneName: 'example.com' },
      'hostedZoneName is "example.com", but there is no domainName that it could be for; set domainName too.',
    ],
    [
      { domainName: 'map.example.com', certificateArn: CERTIFICATE, hostedZoneName: 'example.com' },
      'hostedZoneId and hostedZoneName go together; set both, or none and make the record yourself.',
    ],
    [
      {
        domainName: 'map.example.com',
        certificateArn: CERTIFICATE,
        hostedZoneId: 'Z0123456789ABCDEFGHIJ',
        hostedZoneName: 'ample.com',
      },
      'domainName is "map.example.com", which is not within the hosted zone "ample.com"; give the zone of that name.',
    ],
    [
      { omitAftr: '5m' },
      'There is no setting "omitAftr"; did you mean omitAfter? docs/deploy.md lists them all.',
    ],
    [
      { stage: 'prod', stages: { prod: { shard: 4 } } },
      'There is no setting "shard" for the stage prod; did you mean shards? docs/deploy.md lists them all.',
    ],
    [
      { stage: 'prod', stages: { prod: { stage: 'dev' } } },
      'There is no setting "stage" for the stage prod; docs/deploy.md lists them all.',
    ],
    [
      { stage: 'prod', stages: { prod: 'shards=4' } },
      'The settings of stage prod are "shards=4"; they must be an object of settings.',
    ],
    [
      { stages: 'prod' },
      'The context\'s "stages" is "prod"; it must be an object with the settings of each stage.',
    ],
  ])('%j', (context, message) => {
    expect(() => readSettings(context)).toThrow(new SettingError(message));
  });
});
