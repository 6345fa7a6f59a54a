/** What is free of each model, by region, with the largest free block on one node. */
import type { JSX } from 'preact';
import { type ModelRows, modelRows, type RegionRow } from '../model/capacity.ts';
import { capacity } from '../state/resources.ts';
import { linkTo, view } from '../state/view.ts';
import { Count, FreeBar, Name, Scroll, Section } from './parts.tsx';

export function Models(): JSX.Element {
  const { data } = capacity.state.value;
  const models = modelRows(data?.groups ?? []);
  return (
    <Section id="models" title="Accelerators by model and region" of={capacity.state.value}>
      {data === undefined ? null : models.length === 0 ? (
        <p>No cluster in the map has accelerators.</p>
      ) : (
        <Scroll label="Accelerators by model and region, table">
          <table>
            <thead>
              <tr>
                <th scope="col">Model and region</th>
                <th scope="col" class="number">
                  Free
                </th>
                <th scope="col" class="number">
                  Total
                </th>
                <th scope="col">In use</th>
                <th scope="col" class="number">
                  Largest free block on one node, after demand and claims
                </th>
                <th scope="col" class="number">
                  Idle nodes
                </th>
                <th scope="col" class="number">
                  Pending
                </th>
                <th scope="col" class="number">
                  Cannot be placed
                </th>
              </tr>
            </thead>
            {models.map((each) => (
              <Model key={each.model} {...each} />
            ))}
          </table>
        </Scroll>
      )}
    </Section>
  );
}

function Model({ model, sum, regions }: ModelRows): JSX.Element {
  const link = (region: string): string => linkTo({ filter: { ...view.value.filter, model, region } });
  return (
    <tbody data-model={model}>
      <tr class="sum" data-row="sum">
        <th scope="rowgroup">
          <a href={link('')}>
            <Name text={model} none="(no model)" />
          </a>
        </th>
        <Figures {...sum} />
      </tr>
      {regions.map((row) => (
        <tr key={row.region} data-row={row.region}>
          <th scope="row">
            <a href={link(row.region)}>
              <Name text={row.region} none="(no region)" />
            </a>
          </th>
          <Figures {...row} />
        </tr>
      ))}
    </tbody>
  );
}

function Figures(row: Omit<RegionRow, 'region'>): JSX.Element {
  return (
    <>
      <td class="number" data-cell="free">
        <Count value={row.free} />
        {row.eligibleFree === row.free ? null : (
          <small>
            {' '}
            (<Count value={row.eligibleFree} /> open to new work)
          </small>
        )}
        {row.claimed === 0n ? null : (
          <small>
            {' '}
            (<Count value={row.claimed} /> claimed)
          </small>
        )}
      </td>
      <td class="number" data-cell="total">
        <Count value={row.total} />
      </td>
      <td>
        <FreeBar {...row} />
      </td>
      <td class="number" data-cell="largest">
        <Count value={row.largestBlock} />
      </td>
      <td class="number" data-cell="idle">
        <Count value={row.idleNodes} />
      </td>
      <td class="number" data-cell="pending">
        <Count value={row.pending} />
      </td>
      <td class="number" data-cell="deficit">
        <Count value={row.deficit} />
      </td>
    </>
  );
}
