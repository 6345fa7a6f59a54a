/** The spliced member, read by programs that share no code with Node's zlib binding or with us. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { type Piece, plain } from '../../../functions/core/map/pieces.ts';
import { gzip } from '../../../functions/core/map/splice-gzip.ts';
import { spliceMapJson } from '../../../functions/core/map/splice-json.ts';
import { spliceMapProtobuf } from '../../../functions/core/map/splice-protobuf.ts';
import { ClusterResourceMapSchema } from '../../../functions/gen/resourcemap/v1/resource_map_pb.ts';
import { jsonEntry, type Kept, protobufEntry } from './builders.ts';
import { gather } from './gather.ts';

/** Long ids make the clock longer than one stored block. */
const kept: readonly Kept[] = Array.from({ length: 400 }, (_, index) => ({
  clusterId: `cluster-${index}-${'é'.repeat(100)}`,
  counter: BigInt(index + 1),
  collectedAtNanos: BigInt(index) * 1_000_000_007n,
  body: create(ClusterResourceMapSchema, {
    cluster: { clusterId: `cluster-${index}`, provider: 'aws', region: `region-${index % 7}` },
    capacityPools: Array.from({ length: index % 5 }, (_, pool) => ({
      id: `pool-${pool}`,
      nodeTypes: [{ id: 'a', instanceType: 'p5.48xlarge', acceleratorsPerNode: 8, totalCount: index }],
    })),
  }),
}));

const directory = mkdtempSync(join(tmpdir(), 'rmap-readers-'));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

/** One member and nothing after it, or exit code 1. */
const PYTHON = `
import sys, zlib
reader = zlib.decompressobj(31)
sys.stdout.buffer.write(reader.decompress(sys.stdin.buffer.read()))
sys.exit(0 if reader.eof and not reader.unused_data else 1)
`;

const GO = `
package main

import (
	"bufio"
	"compress/gzip"
	"io"
	"log"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	reader, err := gzip.NewReader(in)
	if err != nil {
		log.Fatal(err)
	}
	reader.Multistream(false)
	if _, err := io.Copy(os.Stdout, reader); err != nil {
		log.Fatal(err)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		log.Fatal("there is more after the member")
	}
}
`;

const readers = [
  { name: 'gzip', probe: ['--version'], args: () => ['-dc'] },
  { name: 'python3', probe: ['--version'], args: () => ['-c', PYTHON] },
  { name: 'go', probe: ['version'], args: () => ['run', file('read.go', GO)] },
];
const responses: readonly [string, Piece[]][] = [
  ['Protobuf', spliceMapProtobuf(kept.map(protobufEntry))],
  ['JSON', spliceMapJson(kept.map(jsonEntry))],
];

describe.each(readers)('$name', ({ name, probe, args }) => {
  it('reads the spliced gzip, in Protobuf and JSON, as one member of the plain bytes', (context) => {
    context.skip(spawnSync(name, probe).status !== 0, `${name} is not installed`);
    for (const [format, pieces] of responses) {
      const { status, stdout, stderr } = spawnSync(name, args(), {
        input: gather(gzip(pieces)),
        maxBuffer: 64 * 1024 * 1024,
      });
      expect(stderr.toString(), format).toBe('');
      expect(status, format).toBe(0);
      expect(stdout.equals(gather(plain(pieces))), format).toBe(true);
    }
  }, 120_000);
});
