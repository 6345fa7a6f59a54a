import { describe, expect, it } from 'vitest';
import { decodeSnapshot } from '../../../functions/core/snapshot/decode.ts';

const decode = (json: string) => decodeSnapshot(Buffer.from(json), 'json');

describe('A JSON member that is given twice under one name', () => {
  it.each([
    ['at the top', '{"logicalCounter":"1","logicalCounter":"2"}', 'logicalCounter', 22],
    ['deep within', '{"cluster":{"region":"a","site":"b","region":"c"}}', 'region', 36],
    ['once with an escape sequence', '{"cluster":{"site":"a","s\\u0069te":"b"}}', 'site', 23],
    ['after an array', '{"jobs":[{"jobId":"a"},{"jobId":"b"}],"jobs":[]}', 'jobs', 38],
  ])('is rejected %s', (_where, json, name, at) => {
    expect(() => decode(json)).toThrow(
      `[malformed_json] The member "${name}" is given twice in one object, the second time at byte ${at}; give it once.`,
    );
  });

  it('is found among very many', () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `"m${i}":1`).join(',');
    expect(() => decode(`{${names},"m777":1}`)).toThrow('The member "m777" is given twice in one object');
  });

  it('is not one that another object has, nor a string that is a value', () => {
    const json = '{"cluster":{"clusterId":"site","site":"site"},"jobs":[{"jobId":"a"},{"jobId":"a"}]}';
    expect(decode(json)).toMatchObject({ cluster: { site: 'site' }, jobs: [{ jobId: 'a' }, { jobId: 'a' }] });
  });
});
