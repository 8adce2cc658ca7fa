import { useEffect } from 'react';
import { addressOf } from '../graph/addresses.ts';
import { Problem } from '../ui/problem.tsx';

/** GraphiQL is a page of its own, which leads here if the sign-in is missing. Its query is in the address. */
export function Explorer() {
  useEffect(() => location.replace(addressOf(`graphql${location.search}`)), []);
  return <Problem error={null} />;
}
