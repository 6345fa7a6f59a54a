/** The same property tests in every run; FC_SEED gives others. A failing one prints its seed. */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 14) });
