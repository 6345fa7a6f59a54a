/** What the package exports, as it is shipped: built, by its own name, in a process of its own. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** What a program prints that imports from the package. */
async function printed(program: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: root });
  return JSON.parse(stdout);
}

describe('resource-map/bundle', () => {
  it('validates and plans in the process of a scheduler, from plain objects', async () => {
    const program = `
      import { planBundles, planNodeServices, validateBundle } from 'resource-map/bundle';
      const bundle = {
        bundleId: 'b',
        pool: 'edge',
        jobs: [{ jobName: 'encode', requirements: { requiredCapacity: 12, priorityBand: 'gold' } }],
      };
      const descriptors = [
        { poolName: 'edge', kind: 'elastic', nodeProfiles: [{ totalCapacity: 8 }], clouds: ['aws'] },
      ];
      const pools = [{ poolName: 'edge', tiers: [{ tierName: 'own', cluster: {} }] }];
      const place = { clusterId: 'c', provider: '', region: '', zone: '', poolId: '', nodeTypeId: '', instanceType: '', acceleratorModels: [] };
      const node = (nodeId, totalCapacity) => ({
        kind: 'inventory', nodeId, place, eligible: true,
        inventory: { totalCapacity, utilizationCap: 0.8, reachable: true },
      });
      const candidates = [node('small', 14), node('large', 16)];
      const service = { serviceId: 's', pools: ['edge'], lifecycle: 'eager' };
      console.log(JSON.stringify({
        errors: validateBundle(bundle, descriptors).errors,
        node: planBundles([bundle], pools, candidates)[0].copies[0].placements[0].node.node,
        services: planNodeServices([service], pools, candidates)[0].placements.length,
      }));`;
    expect(await printed(program)).toEqual({
      errors: [
        {
          code: 'unsatisfiableCapacity',
          message: 'Job "encode" needs capacity 12, and the best profile of pool "edge" offers 8.',
        },
      ],
      node: { kind: 'inventory', nodeId: 'large' },
      services: 2,
    });
  });

  it('plans over the nodes of snapshots, as the service does', async () => {
    const program = `
      import { readFileSync } from 'node:fs';
      import { fromJsonString } from '@bufbuild/protobuf';
      import { ClusterResourceMapSchema } from 'resource-map';
      import { BUILT_IN_CATALOGUE, clusterNodes, describePool, mapCandidates, planBundles } from 'resource-map/bundle';
      const file = 'functions/local/samples/aicr-eks-h100-t3.json';
      const nodes = [clusterNodes(fromJsonString(ClusterResourceMapSchema, readFileSync(file, 'utf8')))];
      const pool = { poolName: 'p', tiers: [{ cluster: { acceleratorModel: ['NVIDIA-H100-80GB-HBM3'] } }] };
      const requiredCapabilities = [{ name: 'resource-map/accelerator', count: 6 }];
      const bundle = { bundleId: 'b', pool: 'p', jobs: [{ jobName: 'a', requirements: { requiredCapabilities } }] };
      console.log(JSON.stringify({
        cores: describePool(pool, nodes, BUILT_IN_CATALOGUE).nodeProfiles[0].totalCores,
        outcome: planBundles([bundle], [pool], mapCandidates(nodes, BUILT_IN_CATALOGUE))[0].outcome,
      }));`;
    expect(await printed(program)).toEqual({ cores: 192, outcome: 'placed' });
  });

  it('brings nothing of AWS and of HTTP along', async () => {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: ['dist/core/bundle/index.js'],
      bundle: true,
      platform: 'neutral',
      external: ['node:*'],
      mainFields: ['module', 'main'],
      write: false,
      metafile: true,
    });
    const packages = Object.keys(metafile.inputs).flatMap(
      (file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [],
    );
    expect([...new Set(packages)].sort()).toEqual(['@bufbuild/protobuf', 'fastest-levenshtein']);
  });
});

it('resource-map exports the messages of bundles, and a client that sends them', async () => {
  const program = `
    import * as map from 'resource-map';
    const client = map.createClient({ baseUrl: 'http://127.0.0.1:1' });
    console.log(JSON.stringify([
      typeof map.BundleSchema, typeof map.PlanRequestSchema, typeof map.PoolSchema,
      ...['pools', 'pool', 'putPool', 'deletePool', 'validateBundle', 'planBundles'].map((name) => typeof client[name]),
    ]));`;
  expect(await printed(program)).toEqual([...new Array(3).fill('object'), ...new Array(6).fill('function')]);
});
