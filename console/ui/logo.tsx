/** A broker in the middle of its clients. */
export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="2">
      <path d="M12 12 5 5M12 12 20 7M12 12 7 20" />
      <circle cx="12" cy="12" r="4" fill="currentColor" />
      <circle cx="4.5" cy="4.5" r="2.5" fill="currentColor" stroke="none" />
      <circle cx="20" cy="7" r="2.5" fill="currentColor" stroke="none" />
      <circle cx="7" cy="20" r="2.5" fill="currentColor" stroke="none" />
    </svg>
  );
}
