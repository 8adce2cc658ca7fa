/** The services by name, as resolvers find them in the context. Filled by the composition root. */
// biome-ignore lint/suspicious/noEmptyInterface: each domain adds its own line below.
export interface Services {}
