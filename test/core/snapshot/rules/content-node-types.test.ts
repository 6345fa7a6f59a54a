import { fromBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeContent } from '../../../../functions/core/snapshot/canonical.ts';
import { capacityFacts, capacityFactsOfContent } from '../../../../functions/core/snapshot/rules/index.ts';
import {
  ClusterResourceMapSchema,
  type PurchaseModel,
} from '../../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { arbitrarySnapshot } from '../arbitrary-snapshot.ts';
import { nodeType, pool, snapshotOf } from '../builders.ts';

it('reads of a body what decoding it whole would give', () => {
  fc.assert(
    fc.property(arbitrarySnapshot(), (snapshot) => {
      const body = encodeContent(snapshot);
      expect(capacityFactsOfContent(body)).toEqual(capacityFacts(fromBinary(ClusterResourceMapSchema, body)));
    }),
    { numRuns: 300 },
  );
});

it('passes over fields that it does not know', () => {
  const snapshot = snapshotOf({
    capacityPools: [pool({ nodeTypes: [nodeType({ purchaseModel: 99 as PurchaseModel })] })],
  });
  const [type] = snapshot.capacityPools[0]?.nodeTypes ?? [];
  if (type === undefined) throw new Error('There is one.');
  type.$unknown = [
    { no: 500, wireType: 2, data: Uint8Array.of(3, 0x61, 0x62, 0x63) },
    { no: 501, wireType: 0, data: Uint8Array.of(0x80, 0x01) },
  ];
  expect(capacityFactsOfContent(encodeContent(snapshot))).toEqual(capacityFacts(snapshot));
});

it('throws at bytes that are no message', () => {
  expect(() => capacityFactsOfContent(Uint8Array.of(0x1a, 0x7f, 0x00))).toThrow();
});
