import { toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { gzip } from '../../../functions/core/map/splice-gzip.ts';
import { spliceMapJson } from '../../../functions/core/map/splice-json.ts';
import { spliceMapProtobuf } from '../../../functions/core/map/splice-protobuf.ts';
import { encodeContent } from '../../../functions/core/snapshot/canonical.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import type { Case } from '../case.ts';
import { readCases, seeds } from '../corpus.ts';
import { targetOf } from './index.ts';
import { pipelineTarget, type Steps, sent } from './pipeline.ts';

const STEPS: Steps = { encodeContent, spliceMapProtobuf, spliceMapJson, gzip };
const real = seeds('.');
const ofCluster = (name: string): Case[] =>
  real.filter(({ format, bytes }) => format === 'protobuf' && Buffer.from(bytes).includes(name));
const [neighbour, otherNeighbour] = [ofCluster('upcloud').slice(0, 1), ofCluster('viettel').slice(0, 1)];
const neighbours = [...neighbour, ...otherNeighbour];
const kops = ofCluster('kops')[1] ?? expect.fail('There is no seed.');

describe('From bytes to the map, all holds for', () => {
  it.each(real.map((each, i) => [i, each.format, each] as const))(
    'real snapshot %i in %s',
    async (_, __, input) => {
      const target = await targetOf('pipeline', '.');
      await target(input);
    },
  );

  it.each([...readCases('test/fuzz/crashers')].filter(([file]) => file.startsWith('pipeline-')))(
    'what broke it once: %s',
    async (_, input) => {
      const target = await targetOf('pipeline', '.');
      await target(input);
    },
  );
});

describe('A fault is found in', () => {
  const runWith = (broken: Partial<Steps>): void =>
    void pipelineTarget(neighbours, { ...STEPS, ...broken })(kops);

  it('none, where there is none', () => {
    expect(neighbours).toHaveLength(2);
    expect(() => runWith({})).not.toThrow();
  });

  it('a canonical form that keeps the order in which things came', () => {
    const asItCame: typeof encodeContent = (snapshot) =>
      toBinary(ClusterResourceMapSchema, {
        ...snapshot,
        collectedAt: undefined,
        logicalCounter: 0n,
      } as never);
    expect(() => runWith({ encodeContent: asItCame })).toThrow(
      /canonical form depends on the order|another body/,
    );
  });

  it('a map that lacks a neighbour', () => {
    expect(() => runWith({ spliceMapProtobuf: (entries) => spliceMapProtobuf(entries.slice(0, 2)) })).toThrow(
      'Expected values to be strictly equal',
    );
  });

  it("a map with a neighbour's counter off by one", () => {
    expect(() =>
      runWith({
        spliceMapJson: (entries) =>
          spliceMapJson(
            entries.map((entry, i) => (i === 1 ? { ...entry, counter: entry.counter + 1n } : entry)),
          ),
      }),
    ).toThrow('Expected values to be strictly equal');
  });

  it('gzip whose check sum is of something else', () => {
    expect(() =>
      runWith({
        gzip: (pieces) => {
          const bytes = sent(gzip(pieces));
          bytes.set([(bytes.at(-8) ?? 0) ^ 1], bytes.length - 8);
          return { length: bytes.length, chunks: [bytes] };
        },
      }),
    ).toThrow('incorrect data check');
  });
});
