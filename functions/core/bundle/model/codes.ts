/** What validation can say. Clients match on these; they never change. */

/** The eleven codes of `errors` and `warnings`. */
export type ValidationCode =
  | 'emptyPoolList'
  | 'unknownPoolName'
  | 'unknownResiliencePool'
  | 'resilienceUnsatisfiable'
  | 'duplicateJobName'
  | 'selfReferenceInPlacement'
  | 'unknownJobNameInPlacement'
  | 'contradictoryPlacement'
  | 'unsatisfiableCapacity'
  | 'unsatisfiableCores'
  | 'unsatisfiableCapability';

/** The codes of `advice`, in the order in which it is given. */
export type AdviceCode =
  | 'transitiveContradiction'
  | 'groupExceedsNode'
  | 'noSingleProfile'
  | 'gpuUnsatisfiable'
  | 'backupPoolUnsatisfiable'
  | 'invalidNumber';
