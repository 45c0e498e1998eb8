/** Style sheets come as text, made small by the build. */
declare module '*.css' {
  const text: string;
  export default text;
}
