/** One cluster, opened: its node types, and the work on it. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Claim, ClusterStatus, TargetCapacity } from '../api/types.ts';
import { isOut, momentMs } from '../model/clusters.ts';
import {
  type ChainWork,
  type JobWork,
  lackingText,
  phaseText,
  type RankWork,
  workOf,
} from '../model/work.ts';
import {
  claims,
  hasClaims,
  openedId,
  openedSnapshot,
  openedStatus,
  openedTargets,
  PAGE_ROWS,
} from '../state/resources.ts';
import { linkTo } from '../state/view.ts';
import { countText, plural, timeText } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { State } from './clusters.tsx';
import { Age, Count, Moment, Name, NodeBar, PriceOf, Scroll, Section, ShowMore } from './parts.tsx';
import { SHAPES } from './shapes.ts';

export function Opened(): JSX.Element | null {
  const cluster = openedId.value;
  // What was asked for is further down: it comes into view, and a screen reader goes on from there.
  useEffect(() => {
    if (cluster !== '') document.getElementById('opened-title')?.focus();
  }, [cluster]);
  if (cluster === '') return null;
  const status = openedStatus.state.value;
  return (
    <Section id="opened" title={`Cluster ${visible(cluster)}`} of={status}>
      <p>
        <a href={linkTo({ cluster: '' })}>Close</a>
      </p>
      {status.data === undefined ? null : <Facts status={status.data} />}
      {status.data === undefined || isOut(status.data) ? null : (
        <>
          <NodeTypes />
          <Work />
        </>
      )}
      {hasClaims.value ? <Claims /> : null}
    </Section>
  );
}

function Facts({ status }: { status: ClusterStatus }): JSX.Element {
  const { displayName, provider, region, site } = status.cluster;
  return (
    <>
      <dl>
        <Fact name="State">
          <State status={status} />
          {isOut(status) && status.omittedAt !== undefined ? (
            <>
              {' '}
              since <Moment ms={momentMs(status.omittedAt)} />. What it has is unknown.
            </>
          ) : null}
        </Fact>
        <Fact name="Display name">
          <Name text={displayName} />
        </Fact>
        <Fact name="Where">
          <Name text={[provider, region, site].filter((part) => part !== '').join(' / ')} none="unknown" />
        </Fact>
        {status.receivedAt === undefined ? null : (
          <Fact name="Last push">
            <Moment ms={momentMs(status.receivedAt)} />
          </Fact>
        )}
        {status.collectedAt === undefined ? null : (
          <Fact name="Collected">
            <Moment ms={momentMs(status.collectedAt)} />
          </Fact>
        )}
        {status.contentSince === undefined ? null : (
          <Fact name="Content unchanged since">
            <Moment ms={momentMs(status.contentSince)} />
          </Fact>
        )}
        <Fact name="Counter">{visible(status.highWaterMark)}</Fact>
      </dl>
      {status.lastRefusal === undefined ? null : (
        <p class="refused">
          {SHAPES.refused} The agent was refused at <Moment ms={momentMs(status.lastRefusal.at)} />:{' '}
          <code>{visible(status.lastRefusal.code)}</code> {visible(status.lastRefusal.message)} (refused since
          the last accepted push: {countText(status.lastRefusal.count)})
        </p>
      )}
      {status.warnings.length === 0 ? null : (
        <>
          <h3>Warnings</h3>
          <ul>
            {status.warnings.map((each) => (
              <li key={each.path + each.code}>
                <span class="warned">{SHAPES.warned}</span> <code>{visible(each.code)}</code>{' '}
                {visible(each.message)}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function NodeTypes(): JSX.Element {
  const { data, fault } = openedTargets.state.value;
  return (
    <>
      <h3 id="types-title">Node types</h3>
      {fault === undefined ? null : <p class="fault">✕ {fault}</p>}
      {data === undefined ? null : data.targets.length === 0 ? (
        <p>The cluster has no node type.</p>
      ) : (
        <Scroll label="Node types, table">
          <table>
            <thead>
              <tr>
                <th scope="col">Pool and node type</th>
                <th scope="col" class="number">
                  Nodes
                </th>
                <th scope="col">Nodes by free accelerators: now, after demand, after claims</th>
                <th scope="col" class="number">
                  Free of total
                </th>
                <th scope="col" class="number">
                  Pending
                </th>
                <th scope="col" class="number">
                  Reserved
                </th>
                <th scope="col" class="number">
                  Cannot be placed
                </th>
                <th scope="col" class="number">
                  May still come
                </th>
                <th scope="col" class="number">
                  Price of a node-hour
                </th>
                <th scope="col">Zone and fabric</th>
              </tr>
            </thead>
            <tbody>
              {data.targets.map((target) => (
                <NodeType key={`${target.poolId} ${target.nodeTypeId}`} target={target} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}

function NodeType({ target }: { target: TargetCapacity }): JSX.Element {
  const { nodes, acceleratorsPerNode: perNode } = target;
  return (
    <tr data-target={`${target.poolId}/${target.nodeTypeId}`}>
      <th scope="row">
        <Name text={target.poolId} /> / <Name text={target.nodeTypeId} />
        <small>
          <br />
          {perNode === 0 ? (
            'no accelerators'
          ) : (
            <>
              {countText(perNode)} × <Name text={target.acceleratorModel} none="(no model)" />
            </>
          )}
          {target.eligible ? '' : ', closed to new work'}
        </small>
      </th>
      <td class="number" data-cell="nodes">
        <Count value={nodes} />
        {target.pendingNodes ? <small> (+{countText(target.pendingNodes)} on their way)</small> : null}
      </td>
      <td>
        {perNode === 0 ? null : (
          <>
            <span data-cell="histogram">
              <NodeBar histogram={target.freeHistogram} nodes={nodes} perNode={perNode} />
            </span>
            <span data-cell="histogram-after">
              <NodeBar histogram={target.freeHistogramAfterDemand} nodes={nodes} perNode={perNode} />
            </span>
            {target.claimed === '0' ? null : (
              <span data-cell="histogram-claims">
                <NodeBar histogram={target.freeHistogramAfterClaims} nodes={nodes} perNode={perNode} />
              </span>
            )}
          </>
        )}
      </td>
      <td class="number" data-cell="free">
        <Count value={target.free} /> of <Count value={target.accelerators} />
        {target.claimed === '0' ? null : <small> ({countText(target.claimed)} claimed)</small>}
      </td>
      <td class="number" data-cell="pending">
        <Count value={target.pendingDemand} />
      </td>
      <td class="number" data-cell="reserved">
        <Count value={target.reservedDemand} />
      </td>
      <td class="number" data-cell="deficit">
        <Count value={target.deficit} />
        {target.deficitUndecided ? ' at most' : ''}
      </td>
      <td class="number" data-cell="headroom">
        {target.headroomNodes === undefined ? 'unknown' : plural(BigInt(target.headroomNodes), 'node')}
      </td>
      <td class="number" data-cell="price">
        <PriceOf price={target.pricePerNodeHour} />
      </td>
      <td data-cell="place">
        <Name text={target.zone} none="zone unknown" />
        <br />
        <Name text={target.fabricId} none="fabric unknown" />
        {target.rdmaReady === true ? ', RDMA' : ''}
      </td>
    </tr>
  );
}

function Work(): JSX.Element {
  const { data, fault } = openedSnapshot.state.value;
  const shown = useSignal(PAGE_ROWS);
  const jobs = data === undefined ? [] : workOf(data);
  return (
    <div id="work">
      <h3>Work</h3>
      {fault === undefined ? null : <p class="fault">✕ {fault}</p>}
      {data === undefined ? null : jobs.length === 0 ? (
        <p>The cluster reports no managed jobs.</p>
      ) : (
        <>
          <p>{plural(jobs.length, 'job')}</p>
          {jobs.slice(0, shown.value).map((each) => (
            <JobOf key={each.job.jobId} work={each} />
          ))}
          <ShowMore
            shown={Math.min(shown.value, jobs.length)}
            all={jobs.length}
            more={() => {
              shown.value += PAGE_ROWS;
            }}
          />
        </>
      )}
    </div>
  );
}

/** Ranks and chains are made when a job is opened: a large cluster has tens of thousands. */
function JobOf({ work: { job, ranks, lacking } }: { work: JobWork }): JSX.Element {
  const open = useSignal(false);
  return (
    <details
      data-job={job.jobId}
      onToggle={(event) => {
        open.value = event.currentTarget.open;
      }}
    >
      <summary>
        <Name text={job.jobId} /> – {visible(phaseText(job.status))}, {plural(ranks.length, 'rank')}
        {lacking === 0 ? '' : `, lacks ${plural(lacking, 'accelerator')}`}
      </summary>
      {open.value ? ranks.map((each) => <RankOf key={each.rank.rankId} work={each} />) : null}
    </details>
  );
}

function RankOf({ work: { rank, chains } }: { work: RankWork }): JSX.Element {
  const shown = useSignal(PAGE_ROWS);
  const shape = (rank.podRequirements ?? []).map((each) => each.acceleratorCount).join(', ');
  const bounds = [
    ...(rank.minChains === undefined ? [] : [`at least ${countText(rank.minChains)}`]),
    ...(rank.desiredChains === undefined ? [] : [`wanted ${countText(rank.desiredChains)}`]),
    ...(rank.maxChains === undefined ? [] : [`at most ${countText(rank.maxChains)}`]),
  ];
  return (
    <div class="rank">
      <h4>
        Rank <Name text={rank.rankId} /> – {visible(phaseText(rank.status))}
      </h4>
      <p>
        Pods of a chain: [{shape}]. {plural(chains.length, 'chain')}
        {bounds.length === 0 ? '' : ` (${bounds.join(', ')})`}.
      </p>
      <ul>
        {chains.slice(0, shown.value).map((each) => (
          <ChainOf key={each.chain.chainId} work={each} />
        ))}
      </ul>
      <ShowMore
        shown={Math.min(shown.value, chains.length)}
        all={chains.length}
        more={() => {
          shown.value += PAGE_ROWS;
        }}
      />
    </div>
  );
}

function ChainOf({ work: { chain, pods, lacking } }: { work: ChainWork }): JSX.Element {
  const why = [chain.status?.reason, chain.status?.message].filter((text) => text).join(': ');
  return (
    <li>
      <Name text={chain.chainId} /> – {visible(phaseText(chain.status))}, {plural(pods, 'pod')}
      {lacking.length === 0 ? '' : `, lacks ${visible(lackingText(lacking))}`}
      {why === '' ? '' : ` (${visible(why)})`}
    </li>
  );
}

function Claims(): JSX.Element {
  const { data, fault } = claims.state.value;
  const shown = useSignal(PAGE_ROWS);
  const all = data?.claims ?? [];
  return (
    <div id="claims">
      <h3>Claims</h3>
      {fault === undefined ? null : <p class="fault">✕ {fault}</p>}
      {data === undefined ? null : all.length === 0 ? (
        <p>Nobody has a claim here.</p>
      ) : (
        <>
          <ul>
            {all.slice(0, shown.value).map((each) => (
              <ClaimOf key={each.id} claim={each} />
            ))}
          </ul>
          <ShowMore
            shown={Math.min(shown.value, all.length)}
            all={all.length}
            more={() => {
              shown.value += PAGE_ROWS;
            }}
          />
        </>
      )}
    </div>
  );
}

function ClaimOf({ claim }: { claim: Claim }): JSX.Element {
  const { acceptedAt, expiresAt, endedAt } = claim;
  return (
    <li data-claim={claim.id}>
      <strong>{visible(claim.state.replace('CLAIM_STATE_', '').toLowerCase())}</strong> by{' '}
      <Name text={claim.owner} /> for <Name text={claim.jobId} />,{' '}
      {acceptedAt === undefined ? null : (
        <>
          accepted <Age ofMs={momentMs(acceptedAt)} /> ago,{' '}
        </>
      )}
      {endedAt !== undefined ? (
        <>
          ended <Moment ms={momentMs(endedAt)} />
        </>
      ) : (
        <>
          {plural(claim.remainingChains, 'chain')} to start
          {expiresAt === undefined ? null : `, until ${timeText(momentMs(expiresAt))}`}
          {claim.lapsed ? ', past its time' : ''}
          {claim.backed === false ? `, ${SHAPES.warned} does not fit any more` : ''}
        </>
      )}
      {claim.reason === '' ? '' : `: ${visible(claim.reason)}`} <code>{visible(claim.id)}</code>
    </li>
  );
}
