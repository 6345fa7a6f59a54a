/** Whether a benchmark only has to show that it runs, as in CI: `npm run bench:short`. Its figures mean nothing then. */
export const SHORT = process.env.BENCH_SHORT === '1';
