import { describe, expect, it } from 'vitest';
import { acceleratorChanges, freedModels } from '../../../functions/lambdas/notify/accelerator-changes.ts';
import type { Head } from '../../../functions/storage/head.ts';
import { headOf, omitted } from './builders.ts';

const h100 = (free: bigint) => ({ model: 'H100', total: 16n, free, unavailable: 0n });
const a100 = (free: bigint) => ({ model: 'A100', total: 8n, free, unavailable: 0n });

function freed(before: Head | undefined, after: Head | undefined): readonly string[] {
  return freedModels(before, acceleratorChanges(before, after));
}

describe('Accelerator changes', () => {
  it('name what each model had before and has now', () => {
    const changes = acceleratorChanges(
      headOf({ accelerators: [h100(2n)] }),
      headOf({ accelerators: [h100(6n)] }),
    );
    expect(changes).toEqual([
      {
        model: 'H100',
        before: { total: 16n, free: 2n, unavailable: 0n },
        after: { total: 16n, free: 6n, unavailable: 0n },
      },
    ]);
  });

  it('count a model that came or went as none on the other side', () => {
    const none = { total: 0n, free: 0n, unavailable: 0n };
    const changes = acceleratorChanges(
      headOf({ accelerators: [h100(2n)] }),
      headOf({ accelerators: [a100(8n)] }),
    );
    expect(changes).toEqual([
      { model: 'A100', before: none, after: { total: 8n, free: 8n, unavailable: 0n } },
      { model: 'H100', before: { total: 16n, free: 2n, unavailable: 0n }, after: none },
    ]);
  });

  it('leave out what a cluster has while it is out of the map, for it is unknown', () => {
    const head = headOf({ accelerators: [h100(2n)] });
    expect(acceleratorChanges(head, omitted(head))[0]).not.toHaveProperty('after');
    expect(acceleratorChanges(omitted(head), head)[0]).not.toHaveProperty('before');
    expect(acceleratorChanges(omitted(head), undefined)).toEqual([]);
  });

  it('leave out a model of which the head had no room to tell', () => {
    const cut = headOf({ accelerators: [h100(2n)], omittedModels: 1 });
    const whole = headOf({ accelerators: [h100(2n), a100(8n)] });
    expect(acceleratorChanges(cut, whole)[1]).toEqual({
      model: 'A100',
      after: { total: 8n, free: 8n, unavailable: 0n },
    });
  });
});

describe('Freed models', () => {
  it('are those of which more are free than before', () => {
    const before = headOf({ accelerators: [h100(2n), a100(8n)] });
    expect(freed(before, headOf({ accelerators: [h100(3n), a100(7n)] }))).toEqual(['H100']);
    expect(freed(before, before)).toEqual([]);
  });

  it('are all with free ones where the cluster was not in the map', () => {
    const head = headOf({ accelerators: [h100(3n), a100(0n)] });
    expect(freed(undefined, head)).toEqual(['H100']);
    expect(freed(omitted(head), head)).toEqual(['H100']);
  });

  it('are not those of which the earlier number is unknown', () => {
    expect(
      freed(headOf({ accelerators: [], omittedModels: 1 }), headOf({ accelerators: [h100(3n)] })),
    ).toEqual([]);
  });

  it('are none where the cluster left the map', () => {
    const head = headOf();
    expect(freed(head, omitted(head))).toEqual([]);
  });
});
