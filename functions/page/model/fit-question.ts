/** The question "does it fit?", as the fragment of the URL has it and as the API takes it. */

export interface FitQuestion {
  /** Accelerators of each pod of one chain, with commas between: `8,8`. */
  readonly pods: string;
  readonly chains: string;
  readonly model: string;
  readonly sameFabric: boolean;
  /** The most that a node may cost for an hour; empty: whatever it costs. */
  readonly maxPrice: string;
  readonly currency: string;
}

export const EMPTY_QUESTION: FitQuestion = {
  pods: '',
  chains: '1',
  model: '',
  sameFabric: false,
  maxPrice: '',
  currency: 'USD',
};

/** More pods in one chain than anybody types. */
const MAX_PODS = 256;
const MAX_UINT32 = 4_294_967_295;

/** The request, or what is wrong with the question in a sentence. */
export type FitRequestOrFault = { readonly request: unknown } | { readonly fault: string };

export function fitRequest(question: FitQuestion): FitRequestOrFault {
  const pods = question.pods.split(/[\s,]+/).filter((text) => text !== '');
  const wrong = pods.find((text) => !isUint32(text) || Number(text) === 0);
  if (pods.length === 0)
    return { fault: 'Say how many accelerators each pod of a chain has, such as 8 or 8,8.' };
  if (wrong !== undefined)
    return { fault: `A pod has "${wrong}" accelerators; give integers from 1 up, such as 8,8.` };
  if (pods.length > MAX_PODS)
    return { fault: `The chain has ${pods.length} pods; at most ${MAX_PODS} can be asked for here.` };
  if (!isUint32(question.chains) || Number(question.chains) === 0) {
    return { fault: `The number of chains is "${question.chains}"; give an integer from 1 up.` };
  }
  if (question.maxPrice !== '' && !/^\d+(\.\d+)?$/.test(question.maxPrice)) {
    return {
      fault: `The highest price is "${question.maxPrice}"; give an amount such as 12.50, or leave it empty.`,
    };
  }
  if (question.maxPrice !== '' && !/^[A-Z]{3}$/.test(question.currency)) {
    return { fault: `The currency is "${question.currency}"; give three capital letters, such as USD.` };
  }
  const limits = {
    ...(question.model === '' ? {} : { acceleratorModel: question.model }),
    ...(question.maxPrice === ''
      ? {}
      : { maxPricePerNodeHour: { currencyCode: question.currency, decimalAmount: question.maxPrice } }),
  };
  return {
    request: {
      shapes: [
        {
          podRequirements: pods.map((text) => ({ acceleratorCount: Number(text), ...limits })),
          chains: Number(question.chains),
          sameFabric: question.sameFabric,
        },
      ],
      maxCandidates: 20,
    },
  };
}

function isUint32(text: string): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) <= MAX_UINT32;
}
