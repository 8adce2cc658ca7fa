export function Client({ clientId }: { readonly clientId: string }) {
  return <p>{clientId}</p>;
}
