/** All clusters, searched and filtered, a hundred rows at a time. */
import type { JSX } from 'preact';
import type { ClusterStatus } from '../api/types.ts';
import { modelRows } from '../model/capacity.ts';
import {
  type ClusterFilter,
  CONDITIONS,
  isCondition,
  isOut,
  momentMs,
  NO_FILTER,
  outText,
  staleness,
} from '../model/clusters.ts';
import { coarseNow } from '../state/clock.ts';
import { capacity, clusterRows, clusters, MAX_ROWS, PAGE_ROWS } from '../state/resources.ts';
import { linkTo, replaceView, view } from '../state/view.ts';
import { ageText, countText, plural } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { Age, Count, FreeBar, Name, Scroll, Section, ShowMore } from './parts.tsx';
import { SHAPES } from './shapes.ts';

/** Models of a cluster beyond these make its row unreadable. */
const MODELS_SHOWN = 3;

export function Clusters(): JSX.Element {
  const { data } = clusters.state.value;
  const { filter } = view.value;
  return (
    <Section id="clusters" title="Clusters" of={clusters.state.value}>
      <Filter filter={filter} listed={data?.clusters ?? []} />
      {data === undefined ? null : (
        <>
          <p aria-live="polite">
            {data.matching === data.counts.all
              ? plural(data.matching, 'cluster')
              : `${countText(data.matching)} of ${plural(data.counts.all, 'cluster')}`}
            {data.matching < data.counts.all ? (
              <>
                {' '}
                <a href={linkTo({ filter: NO_FILTER })}>Show all</a>
              </>
            ) : null}
          </p>
          {data.clusters.length === 0 ? null : <Table rows={data.clusters} />}
          {data.clusters.length >= MAX_ROWS ? (
            <p>The first {countText(MAX_ROWS)} are shown: search or filter for others.</p>
          ) : (
            <ShowMore
              shown={data.clusters.length}
              all={data.matching}
              more={() => {
                clusterRows.value = data.clusters.length + PAGE_ROWS;
              }}
            />
          )}
        </>
      )}
    </Section>
  );
}

function Filter({
  filter,
  listed,
}: {
  filter: ClusterFilter;
  listed: readonly ClusterStatus[];
}): JSX.Element {
  const change = (part: Partial<ClusterFilter>): void => replaceView({ filter: { ...filter, ...part } });
  // Of all clusters in the map; those that are out have theirs only while they are listed.
  const known = modelRows(capacity.state.value.data?.groups ?? []);
  const regions = distinct(
    [
      ...known.flatMap((each) => each.regions.map(({ region }) => region)),
      ...listed.map(({ cluster }) => cluster.region),
    ],
    filter.region,
  );
  const models = distinct(
    [
      ...known.map(({ model }) => model),
      ...listed.flatMap(({ accelerators }) => accelerators.map(({ model }) => model)),
    ],
    filter.model,
  );
  return (
    <form class="controls" onSubmit={(event) => event.preventDefault()}>
      <label>
        Search
        <input
          id="search"
          type="search"
          value={filter.search}
          placeholder="name, provider, region, site"
          onInput={(event) => change({ search: event.currentTarget.value })}
        />
      </label>
      <Choice label="Model" value={filter.model} choices={models} onChoice={(model) => change({ model })} />
      <Choice
        label="Region"
        value={filter.region}
        choices={regions}
        onChoice={(region) => change({ region })}
      />
      <Choice
        label="State"
        value={filter.condition ?? ''}
        choices={CONDITIONS}
        onChoice={(text) => change({ condition: isCondition(text) ? text : undefined })}
      />
    </form>
  );
}

function distinct(values: readonly string[], chosen: string): readonly string[] {
  return [...new Set([...values, chosen])].filter((value) => value !== '').sort();
}

function Choice({
  label,
  value,
  choices,
  onChoice,
}: {
  label: string;
  value: string;
  choices: readonly string[];
  onChoice: (value: string) => void;
}): JSX.Element {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChoice(event.currentTarget.value)}>
        <option value="">any</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {visible(choice)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Table({ rows }: { rows: readonly ClusterStatus[] }): JSX.Element {
  return (
    <Scroll label="Clusters, table">
      <table>
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Pushed ago
            </th>
            <th scope="col">Where</th>
            <th scope="col">Accelerators, free of total</th>
            <th scope="col" class="number">
              Warnings
            </th>
            <th scope="col">Last refusal</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((each) => (
            <Row key={each.cluster.clusterId} status={each} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Row({ status }: { status: ClusterStatus }): JSX.Element {
  const { clusterId, displayName, provider, region, site } = status.cluster;
  return (
    <tr data-cluster={clusterId} class={view.value.cluster === clusterId ? 'opened' : undefined}>
      <th scope="row">
        <a href={linkTo({ cluster: clusterId })}>
          <Name text={clusterId} />
        </a>
        {displayName === '' || displayName === clusterId ? null : (
          <small>
            <br />
            <Name text={displayName} />
          </small>
        )}
      </th>
      <td data-cell="state">
        <State status={status} />
      </td>
      <td class="number">
        {status.receivedAt === undefined ? 'never' : <Age ofMs={momentMs(status.receivedAt)} />}
      </td>
      <td data-cell="where">
        <Name text={[provider, region, site].filter((part) => part !== '').join(' / ')} none="unknown" />
      </td>
      <td data-cell="accelerators">
        <Accelerators status={status} />
      </td>
      <td class="number" data-cell="warnings">
        <Count value={status.warningCount} />
      </td>
      <td class="long" data-cell="refusal">
        {status.lastRefusal === undefined ? (
          ''
        ) : (
          <span class="refused">
            {SHAPES.refused} {visible(status.lastRefusal.code)},{' '}
            <Age ofMs={momentMs(status.lastRefusal.at)} /> ago
          </span>
        )}
      </td>
    </tr>
  );
}

/** Shape, word and colour. */
export function State({ status }: { status: ClusterStatus }): JSX.Element {
  if (isOut(status)) {
    return (
      <span class="out">
        {SHAPES.out} {visible(outText(status))}
      </span>
    );
  }
  const old = staleness(status, coarseNow.value);
  if (old === undefined) return <span class="included">{SHAPES.included} in the map</span>;
  const since = coarseNow.value - momentMs(old === 'received' ? status.receivedAt : status.collectedAt);
  return (
    <span class="stale">
      {SHAPES.stale} stale: {old === 'received' ? 'no push for' : 'collected'} {ageText(since)}
      {old === 'received' ? '' : ' ago'}
    </span>
  );
}

function Accelerators({ status }: { status: ClusterStatus }): JSX.Element {
  // What a cluster that is out had is not what it has.
  if (isOut(status)) return <i>unknown</i>;
  const { accelerators, omittedAcceleratorModels } = status;
  const more = accelerators.length - MODELS_SHOWN + omittedAcceleratorModels;
  if (accelerators.length === 0) return <>none</>;
  return (
    <ul class="models">
      {accelerators.slice(0, MODELS_SHOWN).map(({ model, free, total, unavailable }) => (
        <li key={model}>
          <Count value={free} /> of <Count value={total} /> <Name text={model} none="(no model)" />
          <FreeBar free={BigInt(free)} total={BigInt(total)} unavailable={BigInt(unavailable)} />
        </li>
      ))}
      {more > 0 ? <li>and {countText(more)} more</li> : null}
    </ul>
  );
}
