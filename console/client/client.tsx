export function Client({ clientId }: { readonly clientId: string }) {
  return <h2>{clientId}</h2>;
}
