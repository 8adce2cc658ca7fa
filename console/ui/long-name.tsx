import './hint.css';

/** Characters of a name that fit in most columns, and of the end of a longer one, which distinguishes it. */
const FITS = 26;
const END = 10;

/**
 * An id that programs make: many begin alike, so a long one is shortened in the middle. All of it is in the page, so
 * that it is copied whole, and it is shown when it is pointed at or has the focus.
 */
export function LongName({ children }: { readonly children: string }) {
  if (children.length <= FITS) return <>{children}</>;
  return (
    <span className="middle" title={children}>
      <span>{children.slice(0, -END)}</span>
      <span>{children.slice(-END)}</span>
    </span>
  );
}
