select turno.assert_lease('invoice:7', $1, $2);
