/** Style sheets come as the build leaves them: minified, deflated, in base64. */
declare module '*.css' {
  const text: string;
  export default text;
}
