import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  clientTags,
  launchStart,
  launchTags,
  templateOfLaunched,
} from '../../../../functions/core/bundle/model/launch.ts';

const STOP = '2026-01-31T12:00:00Z';

it('drops reserved tags on the way in and on the way out', () => {
  expect(clientTags({ team: 'news', __owner: 'x', __stopDateTime: STOP, _one: 'underscore' })).toEqual({
    team: 'news',
    _one: 'underscore',
  });
});

it('carries the stop time in __stopDateTime, whatever the client put there', () => {
  const template = { ref: 'r', stopDateTime: STOP, tags: { team: 'news', __stopDateTime: 'never' } };
  expect(launchTags(template)).toEqual({ team: 'news', __stopDateTime: STOP });
  expect(launchTags({ ref: 'r', tags: { __stopDateTime: 'never' } })).toEqual({});
});

it('gives back the template that was launched', () => {
  const launched = { ref: 'r', tags: { team: 'news', __stopDateTime: STOP, __internal: '1' } };
  expect(templateOfLaunched(launched)).toEqual({ ref: 'r', stopDateTime: STOP, tags: { team: 'news' } });
  expect(templateOfLaunched({ ref: 'r', tags: {} })).toEqual({ ref: 'r', tags: {} });
});

it("starts at the template's time, and now without one", () => {
  const now = new Date('2026-01-01T00:00:00Z');
  expect(launchStart({ ref: 'r', startDateTime: STOP }, now)).toBe(STOP);
  expect(launchStart({ ref: 'r' }, now)).toBe('2026-01-01T00:00:00.000Z');
});

it('loses no tag of the client and no stop time on the way through', () => {
  const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', '__stopDateTime', '__x', 'constructor'));
  fc.assert(
    fc.property(
      fc.array(fc.tuple(name, fc.string())),
      fc.option(fc.constant(STOP), { nil: undefined }),
      (entries, stopDateTime) => {
        const template = { ref: 'r', stopDateTime, tags: Object.fromEntries(entries) };
        const back = templateOfLaunched({ ref: 'r', tags: launchTags(template) });
        expect(back.stopDateTime).toBe(stopDateTime);
        expect(Object.entries(back.tags ?? {})).toEqual(
          Object.entries(template.tags).filter(([tag]) => !tag.startsWith('__')),
        );
      },
    ),
  );
});
