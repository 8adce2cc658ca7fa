/**
 * Lets the database clients of a test process share the plans of their queries. Each client compiles its queries itself
 * otherwise, which takes a third of the start of a service. Import it before a client is created.
 */

interface QueryCompiler {
  compile(query: string): unknown;
}

const ENGINES = ['sqlite', 'postgresql'] as const;
/** Queries whose plans Prisma does not cache either. */
const NOT_CACHED = /"createMany/;
/** For each engine, as in a client of Prisma. */
const MAX_PLANS = 1_000;

for (const engine of ENGINES) {
  const runtime = `@prisma/client/runtime/query_compiler_small_bg.${engine}.mjs`;
  const { prototype } = ((await import(runtime)) as { QueryCompiler: { prototype: QueryCompiler } }).QueryCompiler;
  const { compile } = prototype;
  const plans = new Map<string, unknown>();
  prototype.compile = function (query) {
    const known = plans.get(query);
    if (known !== undefined) return known;
    const plan = compile.call(this, query);
    if (plans.size < MAX_PLANS && !NOT_CACHED.test(query)) plans.set(query, plan);
    return plan;
  };
}
