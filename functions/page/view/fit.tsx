/** "Does it fit?": the question, and the response with its reason and ranked candidates. The link carries the question. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { FitCandidate, ShapeFit } from '../api/types.ts';
import { modelRows } from '../model/capacity.ts';
import { momentMs } from '../model/clusters.ts';
import { EMPTY_QUESTION, type FitQuestion, fitRequest } from '../model/fit-question.ts';
import { capacity, fit } from '../state/resources.ts';
import { linkTo, openView, view } from '../state/view.ts';
import { countText, plural } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { Age, Name, PriceOf, Scroll, Section } from './parts.tsx';

export function Fit(): JSX.Element {
  const asked = view.value.question;
  const { data, asOfMs } = fit.state.value;
  const shape = data?.shapes[0];
  const checked = asked === undefined ? undefined : fitRequest(asked);
  return (
    <Section id="fit" title="Does it fit?" of={fit.state.value}>
      <Question key={JSON.stringify(asked)} question={asked ?? EMPTY_QUESTION} />
      {checked !== undefined && 'fault' in checked ? (
        <p class="fault" role="alert">
          ✕ {visible(checked.fault)}
        </p>
      ) : null}
      {shape === undefined || asOfMs === undefined ? null : (
        <div aria-live="polite">
          <Verdict shape={shape} asOfMs={asOfMs} />
          <Candidates shape={shape} />
        </div>
      )}
    </Section>
  );
}

function Question({ question }: { question: FitQuestion }): JSX.Element {
  const draft = useSignal(question);
  const models = modelRows(capacity.state.value.data?.groups ?? []).map(({ model }) => model);
  const text = (name: 'pods' | 'chains' | 'model' | 'maxPrice' | 'currency') => ({
    name,
    value: draft.value[name],
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => {
      draft.value = { ...draft.value, [name]: event.currentTarget.value };
    },
  });
  return (
    <form
      class="controls"
      onSubmit={(event) => {
        event.preventDefault();
        const same = JSON.stringify(draft.value) === JSON.stringify(view.value.question);
        if (same) void fit.refresh();
        else openView({ question: draft.value });
      }}
    >
      <label>
        Accelerators of each pod of a chain
        <input {...text('pods')} placeholder="8 or 8,8" inputMode="numeric" />
      </label>
      <label>
        Chains
        <input {...text('chains')} inputMode="numeric" size={6} />
      </label>
      <label>
        Model
        <input {...text('model')} list="fit-models" placeholder="any" />
        <datalist id="fit-models">
          {models.map((model) => (
            <option key={model} value={model} />
          ))}
        </datalist>
      </label>
      <label>
        Highest price of a node-hour
        <input {...text('maxPrice')} inputMode="decimal" placeholder="any" size={8} />
      </label>
      <label>
        Currency
        <input {...text('currency')} size={4} maxLength={3} />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={draft.value.sameFabric}
          onChange={(event) => {
            draft.value = { ...draft.value, sameFabric: event.currentTarget.checked };
          }}
        />
        Each chain in one fabric
      </label>
      <button type="submit">Ask</button>
    </form>
  );
}

function Verdict({ shape, asOfMs }: { shape: ShapeFit; asOfMs: number }): JSX.Element {
  const verdict =
    shape.fits === undefined
      ? '? Undecided within the bounds of the search'
      : shape.fits
        ? '● Yes, it fits now'
        : '○ No, it does not fit now';
  return (
    <p class="verdict">
      <strong>{verdict}</strong>, as of <Age ofMs={asOfMs} /> ago. {chainsText(shape)} {visible(shape.reason)}
    </p>
  );
}

function chainsText(of: Pick<ShapeFit, 'maxChains' | 'maxChainsAtLeast' | 'maxChainsAtMost'>): string {
  if (of.maxChains !== undefined)
    return `At most ${plural(BigInt(of.maxChains), 'chain')} in all clusters together.`;
  if (of.maxChainsAtLeast === undefined || of.maxChainsAtMost === undefined) return '';
  return `From ${countText(of.maxChainsAtLeast)} to ${plural(BigInt(of.maxChainsAtMost), 'chain')} in all clusters together.`;
}

function Candidates({ shape }: { shape: ShapeFit }): JSX.Element | null {
  if (shape.candidates.length === 0) return null;
  return (
    <Scroll label="Candidates">
      <table>
        <caption>
          Candidates, the best first
          {shape.omittedCandidates === 0 ? '' : `; ${countText(shape.omittedCandidates)} more are not shown`}
        </caption>
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            <th scope="col">Fits</th>
            <th scope="col" class="number">
              Chains at most
            </th>
            <th scope="col" class="number">
              Price per hour
            </th>
            <th scope="col">Why not</th>
            <th scope="col" class="number">
              Collected ago
            </th>
          </tr>
        </thead>
        <tbody>
          {shape.candidates.map((each) => (
            <tr key={`${each.clusterId} ${each.fabricId}`}>
              <th scope="row">
                <a href={linkTo({ cluster: each.clusterId })}>
                  <Name text={each.clusterId} />
                </a>
                {each.fabricId === '' ? null : (
                  <small>
                    {' '}
                    fabric <Name text={each.fabricId} />
                  </small>
                )}
              </th>
              <td>{fitsText(each)}</td>
              <td class="number">{maxText(each)}</td>
              <td class="number">
                {each.fits || each.fitsWithScaleOut ? <PriceOf price={each.pricePerHour} /> : '–'}
              </td>
              <td class="long">{visible(each.reason)}</td>
              <td class="number">
                {each.collectedAt === undefined ? '' : <Age ofMs={momentMs(each.collectedAt)} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function fitsText({ fits, fitsWithScaleOut }: FitCandidate): string {
  if (fits === true) return '● now';
  if (fitsWithScaleOut === true) return '◐ with new nodes';
  return fits === undefined ? '? undecided' : '○ no';
}

function maxText({ maxChains, maxChainsAtLeast, maxChainsAtMost }: FitCandidate): string {
  if (maxChains !== undefined) return countText(maxChains);
  if (maxChainsAtLeast === undefined || maxChainsAtMost === undefined) return '?';
  return `${countText(maxChainsAtLeast)}–${countText(maxChainsAtMost)}`;
}
